/** The time per item with a policy: the same simulated traffic and batcher with different policies. */
import { formulaCurve, poisson, type Scenario, simulate } from '@batchwise/arena';
import { adaptive, greedy } from 'batchwise';
import { nowMs } from '../stopwatch.js';

export interface DecideParams {
  readonly policy: 'adaptive' | 'greedy';
  readonly slots: number;
  /** As a share of the maximum throughput of all slots. */
  readonly load: number;
  readonly targetLatencyMs: number | null;
  readonly items: number;
}

const CURVE = formulaCurve('5 + 0.1b', 64, (size) => 5 + 0.1 * size);
const PER_MS = 64 / CURVE.durationMs(64);

export async function run(params: DecideParams): Promise<{ nsEach: number }> {
  await once(params, 1); // warm-up
  const startedAt = nowMs();
  await once(params, 2);
  return { nsEach: (1e6 * (nowMs() - startedAt)) / params.items };
}

async function once(
  { policy, slots, load, targetLatencyMs, items }: DecideParams,
  seed: number,
): Promise<void> {
  const scenario: Scenario = {
    name: 'decide',
    curve: CURVE,
    slots,
    arrivals: poisson(load * slots * PER_MS),
    items,
    targetLatencyMs: targetLatencyMs ?? Number.POSITIVE_INFINITY,
    noise: 0.05,
    timerMs: 1,
    seed,
  };
  await simulate(scenario, {
    name: policy,
    policy: () => (policy === 'adaptive' ? adaptive() : greedy()),
    knowsTarget: true,
  });
}
