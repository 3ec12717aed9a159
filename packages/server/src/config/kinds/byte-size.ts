import { accept, type Kind, refuse } from '../setting-kind.js';

const BYTES_PER = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
} as const;
type Unit = keyof typeof BYTES_PER;

/** A plain number is in bytes; a string has a unit: 64MB = 64,000,000, 64MiB = 67,108,864. */
export function byteSize({ least, most }: { readonly least: number; readonly most: number }): Kind<number> {
  const range = `from ${byteSizeText(least)} to ${byteSizeText(most)}`;
  const expected = `bytes, or a text such as 64MB or 64MiB, ${range}`;
  return {
    label: `size ${range}`,
    expected,
    parse(value) {
      const bytes = bytesOf(value);
      const isInRange = Number.isSafeInteger(bytes) && bytes >= least && bytes <= most;
      return isInRange ? accept(bytes) : refuse(expected, value);
    },
    write: byteSizeText,
  };
}

/** In the largest unit that leaves a whole number. */
export function byteSizeText(bytes: number): string {
  for (const unit of ['GiB', 'MiB', 'KiB'] as const)
    if (bytes !== 0 && bytes % BYTES_PER[unit] === 0) return `${bytes / BYTES_PER[unit]}${unit}`;
  return `${bytes}B`;
}

/** NaN for what is no size. */
function bytesOf(value: unknown): number {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return Number.NaN;
  const match = /^(\d{1,15}(?:\.\d{1,15})?) ?([KMG]i?B|B)$/i.exec(value);
  if (match === null) return Number.NaN;
  const unit = (Object.keys(BYTES_PER) as Unit[]).find(
    (known) => known.toLowerCase() === match[2]?.toLowerCase(),
  );
  return unit === undefined ? Number.NaN : Number(match[1]) * BYTES_PER[unit];
}
