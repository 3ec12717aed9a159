/** Ticks at round numbers, and their labels. */

/** The step of 1, 2 or 5 times a power of ten that divides the range into about `parts` parts. */
export function niceStep(span: number, parts: number): number {
  const raw = span / parts;
  const power = 10 ** Math.floor(Math.log10(raw));
  const digit = raw / power;
  return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

export function ticksBetween(min: number, max: number, step: number): number[] {
  const ticks: number[] = [];
  const first = Math.ceil(min / step - 1e-6);
  const last = Math.floor(max / step + 1e-6);
  // Multiples, not sums, because of rounding: 0.1 added ten times is not 1.
  for (let i = first; i <= last; i++) ticks.push(cleaned(i * step));
  return ticks;
}

/** Powers of ten, with 2 and 5 where there is room; linear steps for a short range. */
export function logTicks(min: number, max: number, wanted: number): number[] {
  const decades = Math.log10(max) - Math.log10(min);
  if (decades < 0.8) return ticksBetween(min, max, niceStep(max - min, Math.min(wanted, 5)));
  const digits = decades * 3 <= wanted * 1.3 ? [1, 2, 5] : [1];
  const everyNth = Math.max(1, niceStep(decades, wanted));
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(min)); power <= Math.ceil(Math.log10(max)); power++) {
    if (power % everyNth !== 0) continue;
    for (const digit of digits) {
      const tick = cleaned(digit * 10 ** power);
      if (tick >= min * (1 - 1e-9) && tick <= max * (1 + 1e-9)) ticks.push(tick);
    }
  }
  return ticks.length >= 2 ? ticks : [min, max];
}

/**
 * `percentile`: the value n is the percentile above which one value in n lies, so that on a logarithmic axis 90 %,
 * 99 % and 99.9 % are equally far apart.
 */
export type AxisFormat = 'number' | 'percent' | 'percentile';

/** The same notation for all ticks of an axis: decimal or scientific. */
export function tickLabels(ticks: readonly number[], format: AxisFormat): string[] {
  if (format === 'percentile') return ticks.map(percentileLabel);
  const values = format === 'percent' ? ticks.map((tick) => tick * 100) : ticks;
  const suffix = format === 'percent' ? ' %' : '';
  const sizes = values.map(Math.abs).filter((size) => size > 0);
  const largest = Math.max(0, ...sizes);
  const smallest = Math.min(...sizes);
  if (largest >= 1e6 || (largest > 0 && largest < 1e-3) || (sizes.length > 0 && smallest < 1e-4)) {
    return values.map((value) => scientific(value) + suffix);
  }
  return values.map((value) => plain(value) + suffix);
}

export function percentileLabel(oneIn: number): string {
  return `${Number((100 * (1 - 1 / oneIn)).toPrecision(7))} %`;
}

/** Three significant digits, for text. */
export function readable(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) return scientific(value);
  return plain(size >= 1000 ? Math.round(value) : Number(value.toPrecision(3)));
}

/** Four significant digits with trailing zeros, for values below each other. */
export function precise(value: number): string {
  const size = Math.abs(value);
  if (size >= 1000 || size < 0.01 || Number.isNaN(value)) return readable(value);
  return value.toPrecision(size < 1 ? 3 : 4).replace('-', '−');
}

function plain(value: number): string {
  const [whole = '', fraction] = String(cleaned(value)).split('.');
  const grouped = whole.replace(/\d(?=(\d{3})+$)/g, '$&,').replace('-', '−');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

function scientific(value: number): string {
  if (value === 0) return '0';
  const [digits = '', power = ''] = Number(value.toPrecision(3)).toExponential().split('e');
  const raised = [...power.replace('+', '')]
    .map((digit) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(digit)])
    .join('');
  const factor = digits.replace('-', '−');
  return factor === '1' ? `10${raised}` : `${factor}·10${raised}`;
}

/** Without the rounding noise of binary fractions. */
function cleaned(value: number): number {
  const clean = Number(value.toPrecision(12));
  return clean === 0 ? 0 : clean;
}
