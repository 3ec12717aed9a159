/** About how long a job takes, in seconds: what is long is begun first, and progress is told by it. */
import { type Cell, curveOf, usualBatch } from '../grid/grid-cell.js';
import type { Job } from './tournament-job.js';

/** How many simulations a cell of a target takes, for each seed. */
const RUNS: Readonly<Record<string, number>> = {
  best_peer: 9,
  goodput: 10,
  efficiency: 3,
  admission: 1,
  ablation: 1,
};
const USUAL_RUNS = 3;

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

/** Each item takes its time, and each batch. */
function simulating(cell: Cell): number {
  const { target, items, seeds } = cell;
  return items * seeds.length * (RUNS[target] ?? USUAL_RUNS) * (0.6e-6 + 3e-6 / usualBatch(cell));
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
