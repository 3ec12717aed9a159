/** Formats of numbers in reports, with their units. */

export function formatMs(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  const digits = ms < 1 ? 3 : ms < 10 ? 2 : ms < 100 ? 1 : 0;
  return `${grouped(ms, digits)} ms`;
}

/** A target is not measured, so it is not rounded like a measurement. */
export function formatTarget(ms: number): string {
  return `${ms.toLocaleString('en', { maximumSignificantDigits: 6 })} ms`;
}

export function formatRate(perSecond: number): string {
  return `${formatCount(perSecond)} requests/s`;
}

/** Three significant digits, or all digits of the integer part. */
export function formatCount(count: number): string {
  if (!Number.isFinite(count)) return '–';
  return count >= 100 ? grouped(count, 0) : count.toLocaleString('en', { maximumSignificantDigits: 3 });
}

/** Rounded down; 100 % and 0 % are exact. */
export function formatShare(share: number): string {
  if (!Number.isFinite(share)) return '–';
  const percent = 100 * share;
  if (share === 1 || share === 0) return `${percent} %`;
  const digits = percent > 99 || percent < 1 ? 2 : 1;
  const least = 10 ** -digits;
  const shown = Math.min(Math.max(Math.floor(percent / least + 1e-9) * least, least), 100 - least);
  return `${Number(shown.toFixed(digits))} %`;
}

export function formatSlots(slots: number): string {
  return slots === 1 ? '1 slot' : `${grouped(slots, 0)} slots`;
}

export function formatBatch(size: number): string {
  if (!Number.isFinite(size)) return '–';
  return grouped(size, size < 9.95 ? 1 : 0);
}

function grouped(value: number, digits: number): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Six significant digits, for JSON; null for a missing value, such as the latency without responses. */
export function exactNumber(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? Number(value.toPrecision(6)) : null;
}
