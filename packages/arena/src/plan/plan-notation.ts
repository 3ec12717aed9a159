/** Numbers of a plan as people read them, with their units. */

export function writtenMs(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  const digits = ms < 1 ? 3 : ms < 10 ? 2 : ms < 100 ? 1 : 0;
  return `${grouped(ms, digits)} ms`;
}

/** A target is given, not measured: it is written as it was given. */
export function writtenTarget(ms: number): string {
  return `${ms.toLocaleString('en', { maximumSignificantDigits: 6 })} ms`;
}

export function writtenRate(perSecond: number): string {
  return `${writtenCount(perSecond)} requests/s`;
}

/** Three digits, or all of a large number. */
export function writtenCount(count: number): string {
  if (!Number.isFinite(count)) return '–';
  return count >= 100 ? grouped(count, 0) : count.toLocaleString('en', { maximumSignificantDigits: 3 });
}

/** Never more than it is: 100 % are all, and 0 % are none. */
export function writtenShare(share: number): string {
  if (!Number.isFinite(share)) return '–';
  const percent = 100 * share;
  if (share === 1 || share === 0) return `${percent} %`;
  const digits = percent > 99 || percent < 1 ? 2 : 1;
  const least = 10 ** -digits;
  const shown = Math.min(Math.max(Math.floor(percent / least + 1e-9) * least, least), 100 - least);
  return `${Number(shown.toFixed(digits))} %`;
}

export function writtenSlots(slots: number): string {
  return slots === 1 ? '1 slot' : `${grouped(slots, 0)} slots`;
}

export function writtenBatch(size: number): string {
  if (!Number.isFinite(size)) return '–';
  return grouped(size, size < 9.95 ? 1 : 0);
}

function grouped(value: number, digits: number): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Six digits, as results are written in JSON; null for what there is not: the latency of no answers. */
export function exactNumber(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? Number(value.toPrecision(6)) : null;
}
