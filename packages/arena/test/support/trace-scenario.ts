/** A scenario with recorded arrivals and a formula as service curve. */
import { formulaCurve, recorded, type Scenario } from '@batchwise/arena';

export function traceScenario(
  times: readonly number[],
  durationMs: (size: number) => number,
  changes: Partial<Scenario> & { readonly maxBatchSize?: number } = {},
): Scenario {
  const { maxBatchSize = 4, ...rest } = changes;
  return {
    name: 'trace',
    curve: formulaCurve('formula', maxBatchSize, durationMs),
    slots: 1,
    arrivals: recorded('trace', times),
    items: times.length,
    targetLatencyMs: Number.POSITIVE_INFINITY,
    noise: 0,
    timerMs: 0,
    seed: 1,
    ...rest,
  };
}
