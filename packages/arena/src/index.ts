/**
 * A deterministic arena for batching policies: the production batcher on virtual time.
 *
 *     import { greedy } from 'batchwise';
 *     import { formulaCurve, measure, poisson, simulate } from '@batchwise/arena';
 *
 *     const curve = formulaCurve('5 + 0.1b', 64, (b) => 5 + 0.1 * b);
 *     const scenario = { name: 'quiet', curve, slots: 1, arrivals: poisson(1), items: 10_000, targetMs: 50, noise: 0, timerMs: 1, seed: 1 };
 *     const run = await simulate(scenario, { name: 'greedy', policy: () => greedy(), knowsTarget: false });
 *     console.log(measure(run).meanMs);
 */
export {
  type Arrivals,
  type ClosedArrivals,
  closedLoop,
  fanOut,
  lognormalGaps,
  mmpp,
  type OpenArrivals,
  onOff,
  phases,
  poisson,
  recorded,
} from './arrivals.js';
export type { Contender } from './contender.js';
export { type Curve, capacity, formulaCurve, type MeasuredPoint, monotone, tableCurve } from './curve.js';
export { itemAfterBatches, type Measures, measure, percentile } from './measures.js';
export { type Random, randomStream } from './random.js';
export type { Scenario, Traits } from './scenario.js';
export { type BatchRun, type Run, simulate } from './simulate.js';
