/** How long the runs of a cell are: long enough for a figure to settle, and no longer. */
import { capacity } from '../simulation/curve.js';
import { type Cell, curveOf, ratePerMs } from './grid-cell.js';

export interface RunLength {
  /** How many batches are wanted, about. */
  readonly batches: number;
  readonly least: number;
  readonly most: number;
}

export function itemsFor(cell: Omit<Cell, 'items' | 'seeds'>, { batches, least, most }: RunLength): number {
  return Math.round(Math.min(Math.max(batches * usualBatch(cell), least), most));
}

/** The size at which batches are as large as what comes while one runs. */
export function usualBatch(cell: Omit<Cell, 'items' | 'seeds'>): number {
  const curve = curveOf(cell);
  const { arrivals, slots, slowdown = 1 } = cell;
  if (arrivals.kind === 'closed') return Math.min(arrivals.users / slots, curve.maxBatchSize);
  const perMs = ratePerMs({ ...cell, items: 0, seeds: [] }) * slowdown;
  const { size: quickest } = capacity(curve);
  let size = 1;
  while (size < quickest && perMs * curve.durationMs(size) > size * slots) size += 1;
  return size;
}
