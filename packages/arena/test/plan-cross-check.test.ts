/**
 * The figures of a plan, compared with a `Batcher` with the printed settings on core's `VirtualClock`, by a driver that
 * shares no code with the simulator.
 */
import { Batcher, type BatcherOptions, type BatchwiseError, type CurvePoint, VirtualClock } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { makePlan, type Plan } from '../src/plan/plan.js';
import { validRequest } from '../src/plan/plan-request.js';
import type { PlanSettings } from '../src/plan/plan-settings.js';
import { simulationOf } from '../src/plan/plan-trial.js';
import { poisson } from '../src/simulation/arrivals.js';
import { type Curve, formulaCurve, tableCurve } from '../src/simulation/curve.js';
import { randomStream } from '../src/simulation/random.js';
import { type Run, simulate } from '../src/simulation/simulate.js';

interface Batch {
  readonly startedAt: number;
  readonly size: number;
}

interface Lived {
  /** From arrival to response, in order of arrival; NaN for rejected requests. */
  readonly latencyMs: number[];
  readonly batches: Batch[];
  readonly codes: Set<string>;
}

/** Timers as in Node: whole milliseconds, at least one. */
class CoarseClock extends VirtualClock {
  readonly timerResolutionMs = 1;

  override setTimer(callback: () => void, delayMs: number): unknown {
    return super.setTimer(callback, Math.max(1, Math.ceil(delayMs)));
  }

  exactTimer(callback: () => void, delayMs: number): unknown {
    return super.setTimer(callback, delayMs);
  }
}

/** Sends requests at these times to a batcher with the settings of the plan, and records the results. */
async function live(
  settings: PlanSettings,
  arrivals: readonly number[],
  durationOf: (size: number, batch: number) => number,
  clock: VirtualClock,
): Promise<Lived> {
  const lived: Lived = { latencyMs: [], batches: [], codes: new Set() };
  const after = (callback: () => void, delayMs: number) =>
    clock instanceof CoarseClock ? clock.exactTimer(callback, delayMs) : clock.setTimer(callback, delayMs);
  const { policy, ...options } = settings;
  const given: BatcherOptions<number> = { ...options, policy: policy.make(), clock };
  const batcher = new Batcher(async (items: number[]) => {
    const durationMs = durationOf(items.length, lived.batches.length);
    lived.batches.push({ startedAt: clock.now(), size: items.length });
    await new Promise<void>((resolve) => after(resolve, durationMs));
    return items;
  }, given);
  arrivals.forEach((at, index) => {
    lived.latencyMs.push(Number.NaN);
    after(() => {
      batcher.submit(index).then(
        () => {
          lived.latencyMs[index] = clock.now() - at;
        },
        (error: BatchwiseError) => lived.codes.add(error.code),
      );
    }, at);
  });
  await clock.advance((arrivals.at(-1) ?? 0) + 1000);
  return lived;
}

function measured(lived: Lived, targetLatencyMs: number, from: number) {
  const counted = lived.latencyMs.slice(from);
  const answered = counted.filter((ms) => !Number.isNaN(ms)).sort((a, b) => a - b);
  return {
    meanMs: answered.reduce((sum, ms) => sum + ms, 0) / answered.length,
    p50Ms: answered[Math.ceil(0.5 * answered.length) - 1],
    p99Ms: answered[Math.ceil(0.99 * answered.length) - 1],
    goodput: answered.filter((ms) => ms <= targetLatencyMs + 1e-9).length / counted.length,
    refused: 1 - answered.length / counted.length,
  };
}

function poissonTimes(perSecond: number, seed: number, count: number): number[] {
  const next = poisson(perSecond / 1000).times(randomStream(seed, 'arrivals'));
  return Array.from({ length: count }, next);
}

function expectSame(plan: Plan, lived: Lived, from: number): void {
  const { meanMs, p50Ms, p99Ms, goodput, refused } = plan.expected ?? {};
  const expected = measured(lived, plan.input.targetLatencyMs, from);
  expect(expected.meanMs).toBeCloseTo(meanMs ?? Number.NaN, 9);
  expect({ ...expected, meanMs: 0 }).toEqual({ meanMs: 0, p50Ms, p99Ms, goodput, refused });
}

const CURVES: readonly Curve[] = [
  formulaCurve('5 + 0.1b', 64, (b) => 5 + 0.1 * b),
  formulaCurve('2 + 0.25 · the next power of two', 64, (b) => 2 + 0.25 * 2 ** Math.ceil(Math.log2(b))),
  tableCurve('flat, then steep', [
    { size: 1, ms: 4 },
    { size: 16, ms: 4.2 },
    { size: 32, ms: 9 },
  ]),
];
const ITEMS = 1000;
const WARM_UP = ITEMS / 10;

describe.each(CURVES)('$name', (curve) => {
  const capacity = Math.max(
    ...Array.from({ length: curve.maxBatchSize }, (_, i) => (1000 * (i + 1)) / curve.durationMs(i + 1)),
  );

  test.each([
    { load: 0.3, slots: 1 },
    { load: 0.9, slots: 1 },
    { load: 1.3, slots: 1 },
    { load: 0.8, slots: 3 },
  ])('at load $load of $slots slots, latencies equal the plan', async ({ load, slots }) => {
    const perSecond = Math.round(load * slots * capacity);
    const plan = await makePlan({
      curve,
      traffic: { kind: 'rate', perSecond },
      targetLatencyMs: 30,
      slots,
      items: ITEMS,
      timerMs: 0,
      seed: 7,
    });
    const settings = plan.settings as PlanSettings;
    const arrivals = poissonTimes(perSecond, 7, ITEMS);
    const lived = await live(settings, arrivals, (size) => curve.durationMs(size), new VirtualClock());
    expectSame(plan, lived, WARM_UP);
    expect(lived.codes).not.toContain('QUEUE_FULL');
  });
});

test('latencies equal the plan with the timers of Node', async () => {
  const [curve] = CURVES as [Curve];
  const plan = await makePlan({
    curve,
    traffic: { kind: 'rate', perSecond: 3000 },
    targetLatencyMs: 30,
    prefer: 'efficiency',
    items: ITEMS,
    seed: 3,
  });
  const lived = await live(
    plan.settings as PlanSettings,
    poissonTimes(3000, 3, ITEMS),
    (size) => curve.durationMs(size),
    new CoarseClock(),
  );
  expectSame(plan, lived, WARM_UP);
});

test('with a trace, every request is measured, and every batch is the same', async () => {
  const [curve] = CURVES as [Curve];
  const random = randomStream(11, 'bursts');
  const timesMs = Array.from({ length: 1500 }, () => 2000 * random()).sort((a, b) => a - b);
  const request = { curve, traffic: { kind: 'trace', timesMs }, targetLatencyMs: 25, timerMs: 0 } as const;
  const plan = await makePlan(request);
  const settings = plan.settings as PlanSettings;
  const start = timesMs[0] as number;
  const arrivals = timesMs.map((at) => at - start);
  const lived = await live(settings, arrivals, (size) => curve.durationMs(size), new VirtualClock());
  expectSame(plan, lived, 0);
  expect(lived.batches).toEqual(batchesOf(await simulated(request, plan)));
});

test('with noise, every batch is the same', async () => {
  const [curve] = CURVES as [Curve];
  const traffic = { kind: 'rate', perSecond: 4000 } as const;
  const request = { curve, traffic, targetLatencyMs: 40, noise: 0.15, timerMs: 0, items: ITEMS, seed: 5 };
  const plan = await makePlan(request);
  const run = await simulated(request, plan);
  // The same random numbers: while the batches are the same, so are their durations.
  const durationOf = (size: number, batch: number) => {
    expect(size).toBe(run.batches[batch]?.size);
    return run.batches[batch]?.durationMs ?? Number.NaN;
  };
  const lived = await live(
    plan.settings as PlanSettings,
    poissonTimes(4000, 5, ITEMS),
    durationOf,
    new VirtualClock(),
  );
  expect(lived.batches).toEqual(batchesOf(run));
  expectSame(plan, lived, WARM_UP);
});

test('other requests or a slower backend give other figures', async () => {
  const [curve] = CURVES as [Curve];
  const plan = await makePlan({
    curve,
    traffic: { kind: 'rate', perSecond: 2000 },
    targetLatencyMs: 30,
    items: ITEMS,
    timerMs: 0,
  });
  const settings = plan.settings as PlanSettings;
  const slower = (size: number) => 1.01 * curve.durationMs(size);
  const same = (size: number) => curve.durationMs(size);
  const others = poissonTimes(2000, 2, ITEMS);
  const arrivals = poissonTimes(2000, 1, ITEMS);
  for (const lived of [
    await live(settings, others, same, new VirtualClock()),
    await live(settings, arrivals, slower, new VirtualClock()),
  ]) {
    expect(measured(lived, 30, WARM_UP).meanMs).not.toBeCloseTo(plan.expected?.meanMs ?? 0, 3);
  }
});

test('the simulated curve is the printed curve', async () => {
  const [curve] = CURVES as [Curve];
  const plan = await makePlan({
    curve,
    traffic: { kind: 'rate', perSecond: 2000 },
    targetLatencyMs: 30,
    items: ITEMS,
  });
  const known = (plan.settings as PlanSettings).curve;
  expect(known).toEqual<CurvePoint[]>([
    { cost: 1, durationMs: 5.1 },
    { cost: 64, durationMs: 11.4 },
  ]);
});

/** The run of the expected figures of the plan. */
function simulated(request: Parameters<typeof makePlan>[0], plan: Plan): Promise<Run> {
  const { maxBatchSize, concurrency: slots } = plan.settings as PlanSettings;
  const { perSecond, targetLatencyMs } = plan.input;
  const { scenario, contender } = simulationOf(validRequest(request), {
    slots,
    maxBatchSize,
    perSecond,
    targetLatencyMs,
  });
  return simulate(scenario, contender);
}

function batchesOf({ batches }: Run): Batch[] {
  return batches.map(({ startedAt, size }) => ({ startedAt, size }));
}
