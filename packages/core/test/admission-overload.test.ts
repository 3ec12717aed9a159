/** Who comes when there is more to do than can be done: refused at once or served in time; and `admission: false`. */
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
  readonly wasRefusedAtTheDoor: boolean;
}

/** So many callers, at so many times what the backend can do; of those refused, a share come back when they are told to. */
async function overload(
  load: number,
  items: number,
  obedient: number,
  options: ConstructorParameters<typeof Driven>[1] = {},
) {
  const driven = new Driven(
    durationMs,
    { maxBatchSize: MAX_BATCH, targetLatencyMs: TARGET_MS, ...options },
    new CoarseClock(),
  );
  const [gaps, obeys] = [seeded(5), seeded(6)];
  const callers: Caller[] = [];
  const retries: Fate[] = [];
  for (let i = 0; i < items; i++) {
    await driven.clock.advance(exponential(gaps, FULL_MS / MAX_BATCH / load));
    let isAtTheDoor = true;
    driven.arrive({}, (fate) => {
      callers.push({ fate, wasRefusedAtTheDoor: fate.code !== undefined && isAtTheDoor });
      if (fate.retryAfterMs === undefined || obeys() >= obedient) return;
      driven.after(fate.retryAfterMs, () => driven.arrive({}, (again) => retries.push(again)));
    });
    isAtTheDoor = false;
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
/** When something has been learned. */
const later = <T>(all: readonly T[]) => all.slice(all.length >> 2);

describe('at 1.3 times what the backend can do', () => {
  test('who is let in is answered in time, and who comes back when told to is, too', async () => {
    const { callers, retries } = await overload(1.3, 4000, 0.1);
    const accepted = later(callers).filter(({ wasRefusedAtTheDoor }) => !wasRefusedAtTheDoor);
    expect(share(accepted, ({ fate }) => isInTime(fate))).toBeGreaterThan(0.97);
    expect(retries.length).toBeGreaterThan(30);
    expect(share(later(retries), isInTime)).toBeGreaterThan(0.95);
  });

  test('the backend is kept busy with those who are let in: nearly all it can do is done in time', async () => {
    const { callers } = await overload(1.3, 4000, 0);
    expect(1.3 * share(later(callers), ({ fate }) => isInTime(fate))).toBeGreaterThan(0.85);
  });

  test('whoever is refused is told when to come back, in a time that makes sense', async () => {
    const { driven } = await overload(1.3, 1500, 0);
    const refused = [...driven.fates.values()].filter(({ code }) => code !== undefined);
    expect(refused.length).toBeGreaterThan(100);
    for (const { code, retryAfterMs } of refused) {
      expect(code).toBe('OVERLOADED');
      expect(retryAfterMs).toBeGreaterThanOrEqual(1);
      expect(retryAfterMs).toBeLessThan(10 * TARGET_MS);
    }
  });
});

test('at half of what the backend can do nobody is refused, once it is known', async () => {
  const { callers } = await overload(0.5, 3000, 0);
  expect(share(later(callers), ({ fate }) => fate.code === undefined)).toBe(1);
  expect(share(later(callers), ({ fate }) => isInTime(fate))).toBeGreaterThan(0.999);
});

// Root cause: whether there is a crowd was judged by the batches that come together within the target, not by those that
// grow while one is running; so half the load was taken for too much, and whoever came just after a batch had left was refused.
test('who would be answered in time by leaving as soon as the slot is free is not refused', async () => {
  const alwaysTen = () => 10;
  const known = { curve: pointsOf(alwaysTen, 16), maxBatchSize: 16 };
  const arrivals = at(poissonTimes(seeded(1), 2.5, 800));
  const theirs = await new Driven(alwaysTen, { ...known, policy: greedy() }).play(arrivals);
  expect(Math.max(...theirs.latenciesMs)).toBeLessThanOrEqual(20);
  const ours = await new Driven(alwaysTen, { ...known, targetLatencyMs: 22 }).play(arrivals);
  expect(ours.codes).toEqual([]);
});

// Root cause: the next batch was taken to be full with those who come together within the target, so nobody was let in
// behind them, though there was room in it.
test('whoever has room and time in the next batch is let in: the door refuses only those who would be let go anyway', async () => {
  const flat = (cost: number) => 11 + 0.01 * cost;
  const known = { curve: pointsOf(flat, 200), maxBatchSize: 200, targetLatencyMs: 19.5 };
  const arrivals = at(poissonTimes(seeded(1), 1 / 13, 20_000));
  const inTime = async (admission: boolean) => {
    const driven = await new Driven(flat, { ...known, admission }).play(arrivals);
    return [...driven.fates.values()].filter(isWithin(19.5)).length;
  };
  expect(await inTime(true)).toBeGreaterThan(0.98 * (await inTime(false)));
});

// Root cause: everybody was put behind all other groups, also those whose group was next.
test('of several groups, whoever can join the next that leaves is let in', async () => {
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
  // One batch at a time for a fifth of those who came in the 15 ms before it: 15 in 55. It was 6 in 100.
  expect(inTime.length).toBeGreaterThan(0.24 * moments.length);
});

// Root cause: who was not sure to be in time was let go, by a margin for the spread that is meant to decide whom to serve
// when not all can be: of 100 there were 26 in time, of greedy()'s 79.
test('where there is room for all, nobody is let go who will be in time on average', async () => {
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
  ])('refuses nobody at the door, however late: %s', async (_, policy) => {
    const { callers } = await overload(2, 1500, 0, { admission: false, policy: policy() });
    expect(callers.filter(({ wasRefusedAtTheDoor }) => wasRefusedAtTheDoor)).toEqual([]);
  });

  test('leaves it to the policy whom to let go: those it keeps are answered in time', async () => {
    const { driven, callers } = await overload(1.3, 4000, 0, { admission: false });
    const answered = later(callers).filter(({ fate }) => fate.code === undefined);
    expect(share(answered, ({ fate }) => isInTime(fate))).toBeGreaterThan(0.97);
    expect(1.3 * share(later(callers), ({ fate }) => isInTime(fate))).toBeGreaterThan(0.85);
    expect(new Set(driven.codes)).toEqual(new Set(['OVERLOADED']));
  });

  test('does not open the door for what is not a question of time', async () => {
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

  test('can be changed while it runs', async () => {
    const driven = new Driven(durationMs, { maxBatchSize: MAX_BATCH, policy: greedy() });
    for (const size of [1, MAX_BATCH]) {
      for (let i = 0; i < size; i++) driven.arrive();
      await driven.clock.advance(2 * FULL_MS);
    }
    const refusedOf = (arrivals: number) => {
      for (let i = 0; i < arrivals; i++) driven.arrive();
      return driven.codes.length;
    };
    driven.batcher.configure({ targetLatencyMs: TARGET_MS });
    expect(refusedOf(200)).toBeGreaterThan(0);
    await driven.clock.advance(1000);
    const before = driven.codes.length;
    driven.batcher.configure({ admission: false });
    expect(refusedOf(200)).toBe(before);
    await driven.clock.advance(1000);
  });
});

// Root cause: before a tenant who had nothing waiting the door saw nobody, however many others waited. Where each
// caller is a tenant it let in all, and they heard that there is no time when it had passed.
test('where every caller is a tenant of its own, who is refused hears it at once', async () => {
  const driven = new Driven(() => 10, { maxBatchSize: 10, targetLatencyMs: 200 });
  const times = poissonTimes(seeded(1), 1 / 1.5, 6000);
  await driven.play(times.map((time, i) => ({ at: time, tenant: `caller ${i}` })));
  const refused = [...driven.fates.values()].slice(1000).filter(({ code }) => code === 'OVERLOADED');
  expect(refused.length).toBeGreaterThan(1000);
  expect(refused.filter(({ arrival, endedAt }) => endedAt > arrival.at).length).toBeLessThan(10);
});

test('a tenant who has little waiting is not refused for what another has, whatever a third weighs', async () => {
  const driven = new Driven(() => 10, { maxBatchSize: 10, targetLatencyMs: 100 });
  await driven.play(at([0, 1, 2], {}));
  const flood = Array.from({ length: 80 }, () => ({ at: 0, tenant: 'many' }));
  await driven.play([...flood, { at: 0, tenant: 'heavy', weight: 1000 }], 1);
  const light = driven.arrive({ tenant: 'light', timeoutMs: 50 });
  await driven.clock.advance(200);
  expect(driven.fates.get(light)?.code).toBeUndefined();
});

// Root cause: it was worked out how often batches must grow until they are as large as the limit.
test('whoever is refused where batches have no limit is told a time to come back', async () => {
  const driven = new Driven(() => 50, { maxBatchSize: -1, targetLatencyMs: 100 });
  await driven.play(at([0, 60, 120]), 100);
  driven.arrive();
  await driven.clock.advance(5);
  const late = driven.arrive({ timeoutMs: 60 });
  expect(driven.fates.get(late)).toMatchObject({ code: 'OVERLOADED' });
  expect(driven.fates.get(late)?.retryAfterMs).toBeLessThan(1000);
});
