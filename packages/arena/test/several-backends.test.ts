/** Scenarios with several backends: equal ones, unequal ones, and one that is out for a while. */
import { describe, expect, test } from 'vitest';
import { gridCurve } from '../src/grid/grid-curves.js';
import { peer } from '../src/peers/peers.js';
import { poisson } from '../src/simulation/arrivals.js';
import { capacity } from '../src/simulation/curve.js';
import { VARIANTS } from '../src/simulation/our-contenders.js';
import type { Scenario, SimulatedBackend } from '../src/simulation/scenario.js';
import { type Run, simulate } from '../src/simulation/simulate.js';
import { parsed } from './support/parsed-scenario.js';

const curve = gridCurve('a');
const perMs = capacity(curve).perMs;

function scenario(load: number, changes: Partial<Scenario>): Scenario {
  const base = {
    name: 'backends',
    curve,
    slots: 2,
    items: 20_000,
    targetLatencyMs: Number.POSITIVE_INFINITY,
  };
  return { ...base, arrivals: poisson(2 * load * perMs), noise: 0.05, timerMs: 0, seed: 1, ...changes };
}

const outcome = ({ latencyMs, batches }: Run) => ({ latencyMs, batches });

describe('two equal backends', () => {
  const backends = [
    { curve, slots: 1 },
    { curve, slots: 1 },
  ];
  test.each([0.3, 0.7, 0.95])('have the same results as two slots, at load %d', async (load) => {
    for (const contender of [VARIANTS.adaptive, peer('greedy')]) {
      const slots = await simulate(scenario(load, {}), contender);
      const equal = await simulate(scenario(load, { backends }), contender);
      expect(outcome(equal)).toEqual(outcome(slots));
    }
  });
});

describe('a backend that is out from 1 s to 3 s', () => {
  const outages = [{ atMs: 1000, ms: 2000 }];
  const both: readonly SimulatedBackend[] = [
    { curve, slots: 1, outages },
    { curve, slots: 1 },
  ];
  const targetLatencyMs = 60;

  /** Share of the items that arrive in a period and are answered within the target. */
  function goodput({ arrivedAt, latencyMs }: Run, fromMs: number, toMs: number): number {
    let items = 0;
    let onTime = 0;
    for (const [i, at] of arrivedAt.entries()) {
      if (at < fromMs || at >= toMs) continue;
      items += 1;
      if ((latencyMs[i] as number) <= targetLatencyMs) onTime += 1;
    }
    return onTime / items;
  }

  test.each([0.4, 0.8])('loses no request, at load %d', async (load) => {
    const run = await simulate(
      scenario(load, { backends: both, items: Math.round(2 * load * perMs * 6000) }),
      {
        ...VARIANTS.adaptive,
        knowsTarget: false,
      },
    );
    expect(run.latencyMs.filter((ms) => Number.isNaN(ms))).toHaveLength(0);
    expect(run.arrivedAt.at(-1)).toBeGreaterThan(4000);
  });

  test.each([0.4, 0.8])('has 95 %% of its goodput 1 s after its return, at load %d', async (load) => {
    const items = Math.round(2 * load * perMs * 6000);
    const run = await simulate(scenario(load, { backends: both, items, targetLatencyMs }), VARIANTS.adaptive);
    const normal = goodput(run, 500, 1000);
    expect(normal).toBeGreaterThan(0.99);
    expect(goodput(run, 4000, 5500)).toBeGreaterThan(0.95 * normal);
  });

  test('keeps its requests if it is the only one', async () => {
    const alone = { slots: 1, backends: both.slice(0, 1), items: Math.round(0.2 * perMs * 6000) };
    const run = await simulate(scenario(0.1, alone), VARIANTS.adaptive);
    expect(run.latencyMs.filter((ms) => Number.isNaN(ms))).toHaveLength(0);
    expect(run.batches.filter(({ startedAt }) => startedAt > 1000 && startedAt < 3000)).toHaveLength(0);
  });
});

describe('the backends of a scenario file', () => {
  const file = { curve: '2 + b', max_batch_size: 8, arrivals: { kind: 'poisson', load: 0.5 } };

  test('have the curve of the file or their own, a factor, slots and outages', () => {
    const backends = [{}, { factor: 3, slots: 2, outages: [{ at_ms: 10, ms: 5 }] }, { curve: '7', slots: 1 }];
    const read = parsed({ ...file, backends }).scenarios[0] as Scenario;
    expect(read.slots).toBe(4);
    expect(read.backends?.map(({ curve: own }) => own.durationMs(4))).toEqual([6, 18, 7]);
    expect(read.backends?.[1]?.outages).toEqual([{ atMs: 10, ms: 5 }]);
    const capacityPerMs = 8 / 10 + 2 * (8 / 30) + 8 / 7;
    expect((read.arrivals as { poissonPerMs: number }).poissonPerMs).toBeCloseTo(0.5 * capacityPerMs);
  });

  test.each([
    [{ slots: 2, backends: [{}] }, 'expected no slots beside backends: each backend has slots of its own.'],
    [{ backends: [{ slots: 0 }] }, 'slots: expected a whole number from 1 to 1024, got 0'],
    [{ backends: [{ speed: 2 }] }, 'speed'],
    [{ backends: [{ outages: [{ at_ms: -1, ms: 1 }] }] }, 'at_ms'],
  ])('are checked: %j', (changes, message) => {
    expect(() => parsed({ ...file, ...changes })).toThrow(message);
  });
});
