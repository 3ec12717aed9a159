/** Estimated duration of a job in seconds: for the order of jobs and the progress. */
import { type Cell, curveOf, typicalBatch } from '../grid/grid-cell.js';
import type { Job } from './tournament-job.js';

/** Simulations per cell and seed, by target. */
const RUNS: Readonly<Record<string, number>> = {
  best_peer: 9,
  goodput: 10,
  efficiency: 3,
  admission: 1,
  ablation: 1,
};
const DEFAULT_RUNS = 3;

export function jobWork(job: Job): number {
  switch (job.kind) {
    case 'cell':
      return simulating(job.cell) + bounding(job.cell);
    case 'ablation':
      return simulating(job.cell);
    case 'showcase':
      return 5 * job.effort * job.slots;
    default:
      return 1;
  }
}

/** A cost per item and one per batch. */
function simulating(cell: Cell): number {
  const { target, items, seeds } = cell;
  return items * seeds.length * (RUNS[target] ?? DEFAULT_RUNS) * (0.6e-6 + 3e-6 / typicalBatch(cell));
}

function bounding(cell: Cell): number {
  const { target, items, arrivals, targetFactor = 1 } = cell;
  const squares = curveOf(cell).maxBatchSize ** 2;
  const load = arrivals.kind === 'closed' ? 1 : arrivals.load;
  switch (target) {
    case 'one_slot':
      return 20e-6 * squares;
    case 'goodput':
      return 4e-9 * items * squares * load * targetFactor;
    case 'efficiency':
      return 3e-9 * items * squares * load;
    default:
      return 0;
  }
}
