/** Under overload an item is rejected at admission or served in time; and the option `admission: false`. */
import { adaptive, type BatcherOptions, greedy } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { CoarseClock } from './support/coarse-clock.js';
import { type Arrival, at, Driven, type Fate, pointsOf } from './support/driven.js';
import { exponential, normal, poissonTimes, seeded } from './support/random.js';

const MAX_BATCH = 32;
const durationMs = (cost: number) => 5 + 0.3 * cost;
const FULL_MS = durationMs(MAX_BATCH);
const TARGET_MS = 2 * FULL_MS;

interface Caller {
  readonly fate: Fate;
  readonly wasRejectedAtAdmission: boolean;
}

/** Runs `items` calls at this load. A share of the rejected callers retries once after `retryAfterMs`. */
async function overload(
  load: number,
  items: number,
  retryShare: number,
  options: ConstructorParameters<typeof Driven>[1] = {},
) {
  const driven = new Driven(
    durationMs,
    { maxBatchSize: MAX_BATCH, targetLatencyMs: TARGET_MS, ...options },
    new CoarseClock(),
  );
  const [gaps, retryDraws] = [seeded(5), seeded(6)];
  const callers: Caller[] = [];
  const retries: Fate[] = [];
  for (let i = 0; i < items; i++) {
    await driven.clock.advance(exponential(gaps, FULL_MS / MAX_BATCH / load));
    let isInEnqueue = true;
    driven.arrive({}, (fate) => {
      callers.push({ fate, wasRejectedAtAdmission: fate.code !== undefined && isInEnqueue });
      if (fate.retryAfterMs === undefined || retryDraws() >= retryShare) return;
      driven.after(fate.retryAfterMs, () => driven.arrive({}, (again) => retries.push(again)));
    });
    isInEnqueue = false;
  }
  await driven.clock.advance(5000);
  expect(callers).toHaveLength(items);
  return { driven, callers, retries };
}

const isWithin =
  (ms: number) =>
  ({ code, arrival, endedAt }: Fate) =>
    code === undefined && endedAt - arrival.at <= ms + 1e-9;
const isInTime = isWithin(TARGET_MS);
const share = <T>(all: readonly T[], is: (one: T) => boolean) => all.filter(is).length / all.length;
/** The values after the first quarter, in which the policy learns. */
const later = <T>(all: readonly T[]) => all.slice(all.length >> 2);

describe('at load 1.3', () => {
  test('admitted items are answered in time, and so are retries after retryAfterMs', async () => {
    const { callers, retries } = await overload(1.3, 4000, 0.1);
    const admitted = later(callers).filter(({ wasRejectedAtAdmission }) => !wasRejectedAtAdmission);
    expect(share(admitted, ({ fate }) => isInTime(fate))).toBeGreaterThan(0.97);
    expect(retries.length).toBeGreaterThan(30);
    expect(share(later(retries), isInTime)).toBeGreaterThan(0.95);
  });

  test('goodput is above 85 % of the throughput of full batches', async () => {
    const { callers } = await overload(1.3, 4000, 0);
    expect(1.3 * share(later(callers), ({ fate }) => isInTime(fate))).toBeGreaterThan(0.85);
  });

  test('a rejected item has a retryAfterMs between 1 ms and ten times the target', async () => {
    const { driven } = await overload(1.3, 1500, 0);
    const rejected = [...driven.fates.values()].filter(({ code }) => code !== undefined);
    expect(rejected.length).toBeGreaterThan(100);
    for (const { code, retryAfterMs } of rejected) {
      expect(code).toBe('OVERLOADED');
      expect(retryAfterMs).toBeGreaterThanOrEqual(1);
      expect(retryAfterMs).toBeLessThan(10 * TARGET_MS);
    }
  });
});

test('at load 0.5 no item is rejected once the curve is known', async () => {
  const { callers } = await overload(0.5, 3000, 0);
  expect(share(later(callers), ({ fate }) => fate.code === undefined)).toBe(1);
  expect(share(later(callers), ({ fate }) => isInTime(fate))).toBeGreaterThan(0.999);
});

// Root cause: overload was detected by the batch size that forms within the target, not by the size that forms while a
// batch is running. Half load counted as overload, and items that arrived just after a dispatch were rejected.
test('an item that greedy dispatch would serve in time is not rejected', async () => {
  const alwaysTen = () => 10;
  const known = { curve: pointsOf(alwaysTen, 16), maxBatchSize: 16 };
  const arrivals = at(poissonTimes(seeded(1), 2.5, 800));
  const withGreedy = await new Driven(alwaysTen, { ...known, policy: greedy() }).play(arrivals);
  expect(Math.max(...withGreedy.latenciesMs)).toBeLessThanOrEqual(20);
  const ours = await new Driven(alwaysTen, { ...known, targetLatencyMs: 22 }).play(arrivals);
  expect(ours.codes).toEqual([]);
});

// Root cause: the next batch was expected to be full of the items that form a batch within the target, so no further
// item was admitted, although the batch had room.
test('an item that fits in the next batch and is in time there is admitted', async () => {
  const flat = (cost: number) => 11 + 0.01 * cost;
  const known = { curve: pointsOf(flat, 200), maxBatchSize: 200, targetLatencyMs: 19.5 };
  const arrivals = at(poissonTimes(seeded(1), 1 / 13, 20_000));
  const inTime = async (admission: boolean) => {
    const driven = await new Driven(flat, { ...known, admission }).play(arrivals);
    return [...driven.fates.values()].filter(isWithin(19.5)).length;
  };
  expect(await inTime(true)).toBeGreaterThan(0.98 * (await inTime(false)));
});

// Root cause: an item was expected to wait for all other groups, even if its group was next.
test('with several groups, an item that can join the next batch is admitted', async () => {
  const draw = seeded(5);
  const flat = (cost: number) => 11 + 0.01 * cost;
  const driven = new Driven(flat, {
    curve: pointsOf(flat, 200),
    maxBatchSize: 200,
    targetLatencyMs: 26,
    groupOf: ({ group }) => group,
  });
  const moments = poissonTimes(draw, 1 / 2.3, 20_000);
  await driven.play(moments.map((moment) => ({ at: moment, group: Math.floor(5 * draw()) })));
  const inTime = [...driven.fates.values()].filter(isWithin(26));
  // A batch of 11 ms has a fifth of the items of the 15 ms before it: 15 in 55 are in time. It was 6 in 100.
  expect(inTime.length).toBeGreaterThan(0.24 * moments.length);
});

// Root cause: items without a safety margin for the variation of durations were rejected, although that margin is meant
// for the choice of items under overload: 26 of 100 items were in time, and 79 with greedy().
test('below capacity, no item is rejected that is in time on average', async () => {
  const inTime = async (options: Partial<BatcherOptions<Arrival>>) => {
    const draw = seeded(2);
    const noisy = () => 20 * Math.exp(0.3 * normal(draw));
    const driven = new Driven(noisy, { maxBatchSize: 16, targetLatencyMs: 40, ...options });
    await driven.play(at(poissonTimes(seeded(3), 3.1, 8000)));
    return share([...driven.fates.values()], isWithin(40));
  };
  const served = await inTime({});
  expect(served).toBeGreaterThan(0.88 * (await inTime({ policy: greedy(), admission: false })));
});

describe('admission: false', () => {
  test.each([
    ['adaptive()', () => adaptive()],
    ['greedy()', () => greedy()],
  ])('rejects no item at admission, however late: %s', async (_, policy) => {
    const { callers } = await overload(2, 1500, 0, { admission: false, policy: policy() });
    expect(callers.filter(({ wasRejectedAtAdmission }) => wasRejectedAtAdmission)).toEqual([]);
  });

  test('leaves rejection to the policy, and the remaining items are answered in time', async () => {
    const { driven, callers } = await overload(1.3, 4000, 0, { admission: false });
    const answered = later(callers).filter(({ fate }) => fate.code === undefined);
    expect(share(answered, ({ fate }) => isInTime(fate))).toBeGreaterThan(0.97);
    expect(1.3 * share(later(callers), ({ fate }) => isInTime(fate))).toBeGreaterThan(0.85);
    expect(new Set(driven.codes)).toEqual(new Set(['OVERLOADED']));
  });

  test('does not affect the limits of queue length and cost', async () => {
    const driven = new Driven(durationMs, {
      admission: false,
      maxQueueSize: 2,
      maxBatchSize: 1,
      targetLatencyMs: 5,
    });
    for (let i = 0; i < 5; i++) driven.arrive();
    driven.arrive({ cost: 7 });
    await driven.clock.advance(0);
    expect([...driven.fates.values()].map(({ code }) => code)).toContain('QUEUE_FULL');
    expect([...driven.fates.values()].map(({ code }) => code)).toContain('INVALID_ITEM');
  });

  test('can be changed at run time', async () => {
    const driven = new Driven(durationMs, { maxBatchSize: MAX_BATCH, policy: greedy() });
    for (const size of [1, MAX_BATCH]) {
      for (let i = 0; i < size; i++) driven.arrive();
      await driven.clock.advance(2 * FULL_MS);
    }
    const rejectedOf = (arrivals: number) => {
      for (let i = 0; i < arrivals; i++) driven.arrive();
      return driven.codes.length;
    };
    driven.batcher.configure({ targetLatencyMs: TARGET_MS });
    expect(rejectedOf(200)).toBeGreaterThan(0);
    await driven.clock.advance(1000);
    const before = driven.codes.length;
    driven.batcher.configure({ admission: false });
    expect(rejectedOf(200)).toBe(before);
    await driven.clock.advance(1000);
  });
});

// Root cause: admission control counted no queued items ahead of a tenant without queued items. If each caller is a
// tenant, all items were admitted, and rejected only after their time had passed.
test('if each caller is a tenant, late items are rejected at admission', async () => {
  const driven = new Driven(() => 10, { maxBatchSize: 10, targetLatencyMs: 200 });
  const times = poissonTimes(seeded(1), 1 / 1.5, 6000);
  await driven.play(times.map((time, i) => ({ at: time, tenant: `caller ${i}` })));
  const rejected = [...driven.fates.values()].slice(1000).filter(({ code }) => code === 'OVERLOADED');
  expect(rejected.length).toBeGreaterThan(1000);
  expect(rejected.filter(({ arrival, endedAt }) => endedAt > arrival.at).length).toBeLessThan(10);
});

test('an item of a tenant with few queued items is not rejected because of other tenants of any weight', async () => {
  const driven = new Driven(() => 10, { maxBatchSize: 10, targetLatencyMs: 100 });
  await driven.play(at([0, 1, 2], {}));
  const flood = Array.from({ length: 80 }, () => ({ at: 0, tenant: 'many' }));
  await driven.play([...flood, { at: 0, tenant: 'heavy', weight: 1000 }], 1);
  const light = driven.arrive({ tenant: 'light', timeoutMs: 50 });
  await driven.clock.advance(200);
  expect(driven.fates.get(light)?.code).toBeUndefined();
});

// Root cause: the estimate counted how often batches must grow to reach the size limit.
test('a rejected item has a retryAfterMs if the batch size is unlimited', async () => {
  const driven = new Driven(() => 50, { maxBatchSize: -1, targetLatencyMs: 100 });
  await driven.play(at([0, 60, 120]), 100);
  driven.arrive();
  await driven.clock.advance(5);
  const late = driven.arrive({ timeoutMs: 60 });
  expect(driven.fates.get(late)).toMatchObject({ code: 'OVERLOADED' });
  expect(driven.fates.get(late)?.retryAfterMs).toBeLessThan(1000);
});
