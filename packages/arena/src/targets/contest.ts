/** Several contenders in one cell: the same arrivals for all, measured from the same item on. */

import { type Cell, scenarioOf } from '../grid/grid-cell.js';
import { itemAfterBatches, type Measures, measure } from '../simulation/measures.js';
import type { Contender } from '../simulation/scenario.js';
import { type Run, simulate } from '../simulation/simulate.js';

/** Batches after which learning is considered complete. */
export const LEARNED_BATCHES = 200;

export type Averages = Pick<Measures, 'meanMs' | 'p99Ms' | 'goodput' | 'onTime' | 'busyMs' | 'meanBatchSize'>;

/** Returns the item from which on the runs of one seed are measured. */
type Start = (runs: readonly Run[]) => number;

/**
 * After the first batches of all contenders, and a fifth of the items, but at most half of the items: a contender that
 * cannot keep up may complete its first batches after the last arrival.
 */
export function afterLearning(runs: readonly Run[]): number {
  const items = (runs[0] as Run).latencyMs.length;
  const learned = Math.max(...runs.map((run) => itemAfterBatches(run, LEARNED_BATCHES)), 0.2 * items);
  return Math.floor(Math.min(learned, 0.5 * items));
}

/** The measures of each contender, averaged over the seeds. */
export async function contest(
  cell: Cell,
  contenders: readonly Contender[],
  start: Start,
): Promise<ReadonlyMap<string, Averages>> {
  const sums = new Map<string, Record<keyof Averages, number>>();
  for (const seed of cell.seeds) {
    const runs: Run[] = [];
    for (const contender of contenders) runs.push(await simulate(scenarioOf(cell, seed), contender));
    const from = start(runs);
    for (const run of runs) add(sums, run.contender, measure(run, from), cell.seeds.length);
  }
  return sums;
}

export function outcomeOf(outcomes: ReadonlyMap<string, Averages>, { name }: { name: string }): Averages {
  const outcome = outcomes.get(name);
  if (outcome === undefined) throw new RangeError(`${name} did not take part.`);
  return outcome;
}

function add(
  sums: Map<string, Record<keyof Averages, number>>,
  name: string,
  measures: Measures,
  count: number,
): void {
  const sum = sums.get(name) ?? { meanMs: 0, p99Ms: 0, goodput: 0, onTime: 0, busyMs: 0, meanBatchSize: 0 };
  for (const key of Object.keys(sum) as (keyof Averages)[]) sum[key] += measures[key] / count;
  sums.set(name, sum);
}
