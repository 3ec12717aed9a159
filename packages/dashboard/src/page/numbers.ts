/** Numbers as people read them. */

const NONE = '–';

/** Three digits are enough to see what is going on. */
export function count(value: number | undefined): string {
  if (value === undefined) return NONE;
  if (value >= 99_950) return `${digits(value / 1000)} k`;
  return digits(value);
}

export function milliseconds(value: number | undefined): string {
  if (value === undefined) return NONE;
  return value >= 1000 ? `${digits(value / 1000)} s` : `${digits(value)} ms`;
}

export function bytes(value: number): string {
  const mebibytes = value / 1024 ** 2;
  return mebibytes >= 1024 ? `${digits(mebibytes / 1024)} GiB` : `${digits(mebibytes)} MiB`;
}

export function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

/** How many of how many, so that few of many are not none: `0.02 %`. */
export function share(part: number, all: number): string {
  return all === 0 ? NONE : `${digits((100 * part) / all)} %`;
}

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
] as const;

/** The largest unit that fits, and the next. */
export function duration(seconds: number): string {
  const first = UNITS.findIndex(([, length]) => seconds >= length);
  if (first < 0) return `${Math.max(0, Math.floor(seconds))} s`;
  const [unit, length] = UNITS[first] as (typeof UNITS)[number];
  const [smallerUnit, smaller] = UNITS[first + 1] ?? (['s', 1] as const);
  return `${Math.floor(seconds / length)} ${unit} ${Math.floor((seconds % length) / smaller)} ${smallerUnit}`;
}

function digits(value: number): string {
  if (value === 0) return '0';
  const places = value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 3;
  return value.toLocaleString('en', { maximumFractionDigits: places });
}
