/** Several contenders in one cell: the same callers for all, counted from the same item on. */
import type { Contender } from '../contender.js';
import { type Cell, scenarioOf } from '../grid-cell.js';
import { itemAfterBatches, type Measures, measure } from '../measures.js';
import { type Run, simulate } from '../simulate.js';

/** By then everybody has learned what there is to learn. */
export const LEARNED_BATCHES = 200;

export type Averages = Pick<Measures, 'meanMs' | 'p99Ms' | 'goodput' | 'onTime' | 'busyMs' | 'meanBatchSize'>;

/** Says from which item on the runs of one seed count. */
export type Start = (runs: readonly Run[]) => number;

/** After the first batches of all of them, and a share of the items. */
export function afterLearning(share = 0.2): Start {
  return (runs) =>
    Math.max(
      ...runs.map((run) => itemAfterBatches(run, Math.min(LEARNED_BATCHES, lastBatches(run)))),
      Math.floor(share * (runs[0] as Run).latencyMs.length),
    );
}

/** Whatever the run's length, its second half counts. */
function lastBatches({ batches }: Run): number {
  return Math.floor(batches.length / 2);
}

/** What each contender comes to, averaged over the seeds. */
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
