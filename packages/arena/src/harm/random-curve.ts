/** Shapes of service curves as formulas of a scenario file, and random numbers that are short in the file. */
import type { Random } from '../simulation/random.js';

interface Shape {
  readonly name: string;
  /** One item takes `firstMs`; `steepness`, from 0 to 1, determines how much longer a full batch takes. */
  formula(firstMs: number, maxBatchSize: number, steepness: number): string;
}

/** Limits of the duration of a full batch, as a multiple of that of one item. */
const MIN_RISE = 1.2;
const MAX_RISE = 16;

export const SHAPES: readonly Shape[] = [
  { name: 'straight', formula: (ms, most, steep) => `${ms} + ${slope(ms, most, steep)}*(b - 1)` },
  {
    name: 'flat, then straight',
    formula: (ms, most, steep) => `${ms} + ${slope(ms, most, steep)}*max(0, b - ${Math.ceil(most / 4)})`,
  },
  {
    name: 'root',
    formula: (ms, most, steep) =>
      `${ms} + ${rounded(slope(ms, most, steep) * Math.sqrt(most))}*(sqrt(b) - 1)`,
  },
  {
    name: 'powers of two',
    formula: (ms, most, steep) => `${ms} + ${slope(ms, most, steep)}*(2^ceil(log2(b)) - 1)`,
  },
  {
    name: 'even steps',
    formula: (ms, most, steep) => {
      const step = Math.max(2, Math.round(most * (0.1 + 0.4 * steep)));
      return `${ms} + ${rounded(step * slope(ms, most, 1 - steep))}*(ceil(b/${step}) - 1)`;
    },
  },
  {
    name: 'best in the middle',
    formula: (ms, most, steep) => {
      const best = Math.max(2, Math.round(most * (0.2 + 0.5 * steep)));
      const perItem = slope(ms, most, 0.5);
      return `${ms} + ${perItem}*(b - 1) + ${rounded(2 * (perItem + ms / best))}*max(0, b - ${best})`;
    },
  },
];

/** Milliseconds per item. */
function slope(firstMs: number, maxBatchSize: number, steepness: number): number {
  return rounded((firstMs * (MIN_RISE * (MAX_RISE / MIN_RISE) ** steepness - 1)) / maxBatchSize);
}

/** Log-uniform, with three digits. */
export function between(random: Random, least: number, most: number): number {
  return rounded(least * (most / least) ** random());
}

/** Rounded to three digits. */
export function rounded(value: number): number {
  return Number(value.toPrecision(3));
}
