import { describe, expect, test } from 'vitest';
import { makePlan, type Plan } from '../src/plan/plan.js';
import { planJson } from '../src/plan/plan-json.js';
import type { PlanRequest } from '../src/plan/plan-request.js';
import { formulaCurve, tableCurve } from '../src/simulation/curve.js';

/** At most 2424 requests per second: runs are short, and still many times the target. */
const straight = formulaCurve('straight', 16, (b) => 5 + 0.1 * b);
const ITEMS = 1000;

type Changes = Partial<PlanRequest> & { perSecond?: number };

function requestOf({ perSecond = 500, ...changes }: Changes): PlanRequest {
  return {
    curve: straight,
    traffic: { kind: 'rate', perSecond },
    targetLatencyMs: 20,
    items: ITEMS,
    ...changes,
  };
}

const made = new Map<string, Promise<Plan>>();

/** Cached, because several tests use the same plan. */
function planFor(changes: Changes = {}): Promise<Plan> {
  const request = requestOf(changes);
  const key = JSON.stringify({ ...request, curve: request.curve.name });
  const plan = made.get(key) ?? makePlan(request);
  made.set(key, plan);
  return plan;
}

describe('a rate that can be held', () => {
  test('has settings, expected figures and the largest rate', async () => {
    const plan = await planFor();
    expect(plan.verdict).toEqual({ kind: 'holds' });
    expect(plan.settings).toMatchObject({ maxBatchSize: 16, concurrency: 1, targetLatencyMs: 20 });
    expect(plan.settings?.maxQueueSize).toBeGreaterThan(32);
    expect(plan.expected?.perSecond).toBe(500);
    expect(plan.expected?.goodput).toBe(1);
    expect(plan.expected?.meanMs).toBeGreaterThan(5.1);
    expect(plan.expected?.p99Ms).toBeGreaterThan(plan.expected?.p50Ms ?? Number.NaN);
    expect(plan.largest?.perSecond).toBeGreaterThan(1800);
    expect(plan.largest?.perSecond).toBeLessThan(2424 / 0.99);
    expect(plan.slotsNeeded).toBe(1);
  });

  test('is consistent: batches per second × size is the rate, and × duration the utilisation', async () => {
    const { expected } = await planFor({ perSecond: 3000, items: 6000, slots: 2 });
    const { meanBatchSize = 0, batchesPerSecond = 0, utilisation } = expected ?? {};
    expect(meanBatchSize * batchesPerSecond).toBeCloseTo(3000, -2);
    expect((batchesPerSecond * (5 + 0.1 * meanBatchSize)) / 2000).toBeCloseTo(utilisation ?? 0, 2);
  });

  test('depends on the seed only', async () => {
    const [one, again, other] = await Promise.all([
      planFor({ noise: 0.1 }),
      makePlan(requestOf({ noise: 0.1 })),
      planFor({ noise: 0.1, seed: 2 }),
    ]);
    expect(planJson(again)).toEqual(planJson(one));
    expect(other.expected?.meanMs).not.toBe(one.expected?.meanMs);
  });
});

describe('the largest rate', () => {
  test('is held, and a slightly higher rate is not', async () => {
    const { largest } = await planFor({ noise: 0.1 });
    const perSecond = largest?.perSecond ?? Number.NaN;
    const there = await planFor({ noise: 0.1, slots: 1, perSecond });
    // By the precision of the search. Close to the limit some higher rates are held again, by the chance of the seed.
    const beyond = await planFor({ noise: 0.1, slots: 1, perSecond: 1.01 * perSecond });
    expect([there.verdict.kind, beyond.verdict.kind]).toEqual(['holds', 'too few slots']);
    expect(there.expected).toEqual(largest);
  });

  test('has loads around it in ascending order, up to overload', async () => {
    const { loads, largest } = await planFor();
    const rates = loads.map(({ perSecond }) => perSecond);
    expect(rates).toEqual([...rates].sort((a, b) => a - b));
    expect(rates).toContain(500);
    expect(rates).toContain(largest?.perSecond);
    expect(loads[0]?.meanMs).toBeLessThan(10);
    expect(loads.at(-1)?.goodput).toBeLessThan(0.99);
  });
});

describe('slots', () => {
  test('are the fewest that hold the target', async () => {
    const plan = await planFor({ perSecond: 9000 });
    const { slotsNeeded = 0 } = plan;
    expect(plan.settings?.concurrency).toBe(slotsNeeded);
    expect(slotsNeeded).toBeGreaterThan(3);
    const oneLess = await planFor({ perSecond: 9000, slots: slotsNeeded - 1 });
    expect(oneLess.verdict.kind).toBe('too few slots');
    expect(oneLess.slotsNeeded).toBe(slotsNeeded);
  });

  test('given in the request are used, even if fewer are sufficient', async () => {
    const plan = await planFor({ slots: 3 });
    expect(plan.settings?.concurrency).toBe(3);
    expect(plan.slotsNeeded).toBe(1);
  });
});

describe('the largest batch', () => {
  test('is not above the size with the best throughput', async () => {
    const worse = tableCurve('worse past 32', [
      { size: 1, ms: 4 },
      { size: 32, ms: 8 },
      { size: 64, ms: 40 },
    ]);
    expect((await planFor({ curve: worse })).settings?.maxBatchSize).toBe(32);
  });

  test('is the given limit, if throughput grows with size', async () => {
    expect((await planFor({ maxBatchSize: 12 })).settings?.maxBatchSize).toBe(12);
    expect((await planFor({ maxBatchSize: 1000 })).settings?.maxBatchSize).toBe(16);
  });

  test('is within the target', async () => {
    const { settings, input } = await planFor({ targetLatencyMs: 6, perSecond: 10, slots: 4 });
    expect(straight.durationMs(settings?.maxBatchSize ?? Number.NaN)).toBeLessThanOrEqual(6);
    expect(input.maxBatchSize).toBe(16);
  });
});

describe('a target that is not held', () => {
  test('with too few slots: the plan has the required slots, and the target that the given slots hold', async () => {
    const plan = await planFor({ slots: 1, perSecond: 2000, targetLatencyMs: 9 });
    expect(plan.verdict.kind).toBe('too few slots');
    expect(plan.slotsNeeded).toBeGreaterThan(1);
    const { lowestTargetLatencyMs = 0 } = plan.verdict as { lowestTargetLatencyMs?: number };
    expect(lowestTargetLatencyMs).toBeGreaterThan(9);
    const held = await planFor({ slots: 1, perSecond: 2000, targetLatencyMs: lowestTargetLatencyMs });
    expect(held.verdict.kind).toBe('holds');
  });

  test('with a rate above the throughput of the slots: no target is held', async () => {
    const plan = await planFor({ slots: 1, perSecond: 4000 });
    expect(plan.verdict).toEqual({ kind: 'too few slots', lowestTargetLatencyMs: undefined });
    expect(plan.slotsNeeded).toBe(2);
  });

  test('below the duration of a single request: the plan has the required target, and no settings', async () => {
    const plan = await planFor({ targetLatencyMs: 5 });
    expect(plan.verdict.kind).toBe('target too low');
    expect(plan).toMatchObject({ settings: undefined, expected: undefined, largest: undefined, loads: [] });
    const { lowestTargetLatencyMs = 0, slots } = plan.verdict as {
      lowestTargetLatencyMs?: number;
      slots: number;
    };
    expect(lowestTargetLatencyMs).toBeGreaterThan(5.1);
    expect((await planFor({ targetLatencyMs: lowestTargetLatencyMs, slots })).verdict.kind).toBe('holds');
  });

  test('but that single requests meet on average', async () => {
    const plan = await planFor({ targetLatencyMs: 5.2, noise: 0.3 });
    expect(plan.verdict.kind).toBe('target too low');
  });

  test('with a rate beyond 64 slots: the plan estimates the required slots', async () => {
    const plan = await planFor({ perSecond: 400_000, items: 8000 });
    expect(plan.verdict.kind).toBe('rate too high');
    const { slotsNeeded = 0 } = plan.verdict as { slotsNeeded?: number };
    expect(slotsNeeded).toBeGreaterThanOrEqual(400_000 / 2424);
    expect(slotsNeeded).toBeLessThan(200);
    expect(plan.settings?.concurrency).toBe(64);
    expect(plan.largest?.perSecond).toBeGreaterThan(120_000);
  });
});

describe('a trace', () => {
  const even = Array.from({ length: 1000 }, (_, i) => 100 + 2 * i);

  test('has the rate of its times, for any start time', async () => {
    const plan = await planFor({ traffic: { kind: 'trace', timesMs: even } });
    expect(plan.input).toMatchObject({ traffic: 'trace', perSecond: 500, requests: 1000 });
    expect(plan.verdict.kind).toBe('holds');
  });

  test('keeps its bursts at other rates: it needs more slots than Poisson arrivals of the same rate', async () => {
    // 100 simultaneous requests, every 200 ms.
    const bursts = Array.from({ length: 1000 }, (_, i) => 200 * Math.floor(i / 100) + 0.01 * (i % 100));
    const plan = await planFor({ traffic: { kind: 'trace', timesMs: bursts }, targetLatencyMs: 20 });
    const steady = await planFor({ perSecond: 500, targetLatencyMs: 20 });
    expect(plan.slotsNeeded).toBeGreaterThan(steady.slotsNeeded ?? Number.NaN);
  });

  test('with bursts that no number of slots can serve has no largest rate', async () => {
    const atOnce = Array.from({ length: 4000 }, (_, i) => (i < 3999 ? 0 : 1000));
    const plan = await planFor({ traffic: { kind: 'trace', timesMs: atOnce }, targetLatencyMs: 8 });
    expect(plan.verdict).toEqual({ kind: 'rate too high', slotsNeeded: undefined });
    expect(plan.largest).toBeUndefined();
  });
});

test('progress never decreases', async () => {
  const shares: number[] = [];
  const doings = new Set<string>();
  const onProgress: PlanRequest['onProgress'] = ({ doing, share }) => {
    shares.push(share);
    doings.add(doing);
  };
  await makePlan(requestOf({ onProgress }));
  expect(shares.length).toBeGreaterThan(20);
  expect(shares).toEqual([...shares].sort((a, b) => a - b));
  expect(shares.at(-1)).toBeGreaterThan(0.9);
  expect(shares.at(-1)).toBeLessThanOrEqual(1);
  expect(doings.size).toBeGreaterThan(3);
});

describe('invalid input is an error with its location', () => {
  const trace = (...timesMs: number[]) => ({ traffic: { kind: 'trace', timesMs } }) as const;
  test.each<[Partial<PlanRequest>, RegExp]>([
    [{ targetLatencyMs: 0 }, /targetLatencyMs: expected a number above 0/],
    [{ targetLatencyMs: Number.NaN }, /targetLatencyMs: expected .* got NaN/],
    [{ slots: 0 }, /slots: expected a whole number from 1 to 64, got 0/],
    [{ slots: 65 }, /slots: .* got 65/],
    [{ maxBatchSize: 1.5 }, /maxBatchSize: expected a whole number/],
    [{ noise: -0.1 }, /noise: expected a number from 0 to 2/],
    [{ seed: -1 }, /seed: expected a whole number from 0/],
    [{ prefer: 'speed' as 'latency' }, /prefer: unknown value "speed".*latency, efficiency/],
    [{ traffic: { kind: 'rate', perSecond: Number.NaN } }, /traffic\.perSecond: .* got NaN/],
    [{ traffic: { kind: 'rate', perSecond: -5 } }, /traffic\.perSecond: .* got -5/],
    [trace(1, 3, 2), /traffic\.timesMs\[2\]: expected not less than the time before \(3\), got 2/],
    [trace(-1, 3), /traffic\.timesMs\[0\]: .* got -1/],
    [trace(1, 1), /timesMs: expected at least two requests at different times/],
    [{ slot: 3 } as Partial<PlanRequest>, /unknown key "slot". Did you mean slots\?/],
  ])('%o', async (request, message) => {
    await expect(makePlan(requestOf(request))).rejects.toThrow(message);
    await expect(makePlan(requestOf(request))).rejects.toMatchObject({ code: 'INVALID_PLAN' });
  });
});
