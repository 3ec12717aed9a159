/** `grpc-timeout`: at most eight digits and a unit. */
const SHAPE = /^(\d{1,8})([HMSmun])$/;

const MS_OF_UNIT: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

const MAX_DIGITS_VALUE = 99_999_999;

/** In milliseconds, with their fractions; undefined when it is malformed. */
export function parseTimeout(text: string): number | undefined {
  const match = SHAPE.exec(text);
  if (match === null) return undefined;
  const msOfUnit = MS_OF_UNIT[match[2] as string] as number;
  // Divided rather than multiplied: 250 µs are 0.25 ms, not 0.25000000000000006.
  return msOfUnit < 1 ? Number(match[1]) / Math.round(1 / msOfUnit) : Number(match[1]) * msOfUnit;
}

/** In the finest unit whose eight digits hold it, rounded up; what has passed already is `0n`. */
export function formatTimeout(ms: number): string {
  if (!(ms > 0)) return '0n';
  for (const unit of ['u', 'm', 'S', 'M', 'H']) {
    const value = Math.ceil(unit === 'u' ? ms * 1_000 : ms / (MS_OF_UNIT[unit] as number));
    if (value <= MAX_DIGITS_VALUE) return `${value}${unit}`;
  }
  return `${MAX_DIGITS_VALUE}H`;
}
