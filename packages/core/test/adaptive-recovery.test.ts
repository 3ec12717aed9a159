/** A backend that was too slow for the target and is quick again is used again: nobody is refused for ever. */
import { adaptive } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { type Arrival, at, Driven, pointsOf } from './support/driven.js';
import { exponential, normal, poissonTimes, seeded } from './support/random.js';

const TARGET_MS = 100;
const usual = (cost: number) => 10 + 0.5 * cost;
const TEN_TIMES_SLOWER = (cost: number) => 10 * usual(cost);

type Options = ConstructorParameters<typeof Driven>[1];

/** Traffic of one every `gapMs` on average, for so long. */
function traffic(forMs: number, gapMs: number, seed: number): Arrival[] {
  const random = seeded(seed);
  const arrivals: Arrival[] = [];
  for (let time = exponential(random, gapMs); time < forMs; time += exponential(random, gapMs)) {
    arrivals.push({ at: time, group: Math.floor(2 * random()) });
  }
  return arrivals;
}

/** Of those who come within the last two of so many milliseconds: how many, and how many of them in time. */
async function lastSecondsOf(driven: Driven, forMs: number, gapMs: number) {
  const from = driven.clock.now() + forMs - 2000;
  await driven.play(traffic(forMs, gapMs, forMs), 500);
  const last = [...driven.fates.values()].filter(({ arrival }) => arrival.at >= from);
  const inTime = last.filter(({ arrival, endedAt, code }) => !code && endedAt - arrival.at <= TARGET_MS);
  return { came: last.length, inTime: inTime.length };
}

const OPTIONS: [string, () => Options][] = [
  ['with a door', () => ({})],
  ['without a door', () => ({ admission: false })],
  ['to save the backend', () => ({ policy: adaptive({ prefer: 'efficiency' }) })],
  [
    'to save the backend, without a door',
    () => ({ policy: adaptive({ prefer: 'efficiency' }), admission: false }),
  ],
  ['with two slots and no door', () => ({ concurrency: 2, admission: false })],
  ['with groups and no door', () => ({ groupOf: ({ group }) => group, admission: false })],
  ['with sizes that are padded to', () => ({ batchSizes: [1, 4, 16, 32], admission: false })],
  ['knowing the curve beforehand', () => ({ curve: pointsOf(usual, 32) })],
];

describe.each(OPTIONS)('%s', (_, optionsOf) => {
  test.each([5, 40])(
    'all are in time again some seconds after a slow spell, one coming every %i ms',
    async (gapMs) => {
      const driven = new Driven(usual, { maxBatchSize: 32, targetLatencyMs: TARGET_MS, ...optionsOf() });
      const before = await lastSecondsOf(driven, 3000, gapMs);
      expect(before.inTime / before.came).toBeGreaterThan(0.9);
      driven.durationMs = TEN_TIMES_SLOWER;
      const during = await lastSecondsOf(driven, 3500, gapMs);
      expect(during.inTime).toBe(0);
      driven.durationMs = usual;
      const after = await lastSecondsOf(driven, 6000, gapMs);
      expect(after.inTime / after.came).toBeGreaterThan(0.97);
    },
  );
});

test('a first batch that is slow, as models are before they are warm, keeps nobody out for long', async () => {
  for (const admission of [true, false]) {
    const driven = new Driven(() => 5000, { targetLatencyMs: TARGET_MS, admission });
    driven.arrive();
    await driven.clock.advance(5000);
    driven.durationMs = usual;
    const { came, inTime } = await lastSecondsOf(driven, 5000, 10);
    expect(inTime / came).toBeGreaterThan(0.97);
  }
});

test('a target that no batch can meet refuses nearly all, but goes on looking', async () => {
  const driven = new Driven(() => 300, { targetLatencyMs: TARGET_MS, admission: false });
  await driven.play(traffic(10_000, 10, 1));
  expect(driven.codes.length).toBeGreaterThan(0.5 * driven.fates.size);
  expect(new Set(driven.codes)).toEqual(new Set(['OVERLOADED']));
  // Once a second or so somebody is let through, so that it would be seen if the backend were quick again.
  expect(driven.batches.length).toBeGreaterThan(4);
  const gaps = driven.batches.map(({ startedAt }, i) => startedAt - (driven.batches[i - 1]?.startedAt ?? 0));
  expect(Math.max(...gaps)).toBeLessThan(3000);
});

// Root cause: who is late was let go only at the head. A fresh item of another priority or tenant goes before
// those who are late; then they were neither served nor let go, every batch was as small as the fresh ones are
// few, and the door refused newcomers for the sake of those who could not be served any more.
describe('a second of overload, then half of what can be served,', () => {
  const FRESH: [string, Omit<Arrival, 'at'>][] = [
    ['a few of a higher priority', { priority: 1 }],
    ['a few of another tenant', { tenant: 'few' }],
    ['a few that cost less', { cost: 0.1 }],
  ];

  test.each(FRESH)('%s among them: all are served again, in full batches', async (_, few) => {
    const comeAtOnce = (count: number, time: number): Arrival[] =>
      Array.from({ length: count }, (_, i) => ({ at: time, ...(i === 0 && few) }));
    const times = Array.from({ length: 400 }, (_, i) => 10 * i);
    const driven = new Driven(() => 10, { maxBatchSize: 10, targetLatencyMs: 200 });
    await driven.play(times.flatMap((time) => comeAtOnce(time < 1000 ? 15 : 5, time)));
    const fates = [...driven.fates.values()];
    const served = (from: number, to: number) =>
      fates.filter(({ arrival, code }) => !code && arrival.at >= from && arrival.at < to).length;
    expect(served(0, 1000)).toBeGreaterThan(0.9 * 1000);
    expect(served(1500, 4000)).toBe(250 * 5);
  });
});

// Root cause: three slow batches voided all that was known; of the sizes that were slow then, those that are not
// tried while everything seems slow stayed slow for ever, and batches too small to keep up with the traffic.
describe('some batches that take three times as long, then all as before:', () => {
  const durationMs = (cost: number) => 50 + 0.5 * cost;

  test.each([1, 2, 3, 4, 5, 6, 8, 12, 20, 70, 150])('%i of them', async (slow) => {
    const driven = new Driven(durationMs, { maxBatchSize: 32, targetLatencyMs: 200 });
    const everyFive = (forMs: number): Arrival[] =>
      Array.from({ length: forMs / 5 }, (_, i) => ({ at: 5 * i }));
    await driven.play(everyFive(5000), 0);
    let left = slow;
    driven.durationMs = (cost) => (left-- > 0 ? 180 : durationMs(cost));
    await driven.play(everyFive(180 * slow + 5000), 0);
    const from = driven.clock.now();
    await driven.play(everyFive(10_000));
    const last = [...driven.fates.values()].filter(({ arrival }) => arrival.at >= from);
    expect(last.length).toBeGreaterThanOrEqual(2000);
    expect(last.filter(({ code }) => code !== undefined)).toEqual([]);
  });
});

/** The share of those who came from then on that were answered within the target. */
function inTimeFrom(driven: Driven, fromMs: number, targetMs: number): number {
  const last = [...driven.fates.values()].filter(({ arrival }) => arrival.at >= fromMs);
  return (
    last.filter(({ arrival, endedAt, code }) => !code && endedAt - arrival.at <= targetMs).length /
    last.length
  );
}

// Root cause: a size that was slow the first and only time was forgotten only if the one before it let expect less; of
// two next to each other the one vouched for the other, and no batch was ever as large again.
test('two batches that are slow, each the first of its size, keep nobody out for long', async () => {
  const usualMs = (cost: number) => 50 + 2 * cost;
  const slow = new Set<number>();
  const isHeldUp = (cost: number) => cost >= 13 && slow.size < 2 && !slow.has(cost);
  const driven = new Driven((cost) => (isHeldUp(cost) && slow.add(cost) ? 400 : usualMs(cost)), {
    maxBatchSize: 32,
    targetLatencyMs: 3 * usualMs(32),
  });
  await driven.play(at(poissonTimes(seeded(1), usualMs(32) / (0.75 * 32), 6000)));
  expect(slow.size).toBe(2);
  expect(inTimeFrom(driven, 14_000, 3 * usualMs(32))).toBeGreaterThan(0.99);
});

// Root cause: who is not safe in time was refused though the backend had nothing else to do. What could have shown that
// it is steady again was then measured once a second, and the spread is one of 64 batches.
test('where one batch in ten is slow, those are served who are in time on average, and all when none is any more', async () => {
  const draw = seeded(7);
  const driven = new Driven(() => 70, { maxBatchSize: 32, concurrency: 4, targetLatencyMs: TARGET_MS });
  const come = (count: number) => driven.play(at(poissonTimes(draw, 50, count)), 0);
  await come(500);
  const noisyFrom = driven.clock.now();
  driven.durationMs = () => (draw() < 0.1 ? 147 : 70);
  await come(1000);
  expect(inTimeFrom(driven, noisyFrom, TARGET_MS)).toBeGreaterThan(0.8);
  const steadyFrom = driven.clock.now() + 500;
  driven.durationMs = () => 70;
  await come(200);
  await driven.clock.advance(500);
  expect(inTimeFrom(driven, steadyFrom, TARGET_MS)).toBeGreaterThan(0.95);
});

// Root cause: the batch ended before the first who had no time for it. Of a lower priority that is the oldest, in front
// of all others of his priority: they were left behind with him, time and again, until they had no time either.
test('at three quarters of what can be served all priorities are served in time', async () => {
  const draw = seeded(1);
  const spread = 0.15;
  const durationMs = (cost: number) => (11 + 0.01 * cost) * Math.exp(spread * normal(draw));
  const driven = new Driven(durationMs, { maxBatchSize: 200, targetLatencyMs: 39 });
  const times = poissonTimes(draw, 13 / (0.75 * 100), 15_000);
  await driven.play(
    times.map((time) => ({ at: time, priority: Math.floor(3 * draw()), cost: draw() < 0.5 ? 1 : 3 })),
  );
  expect(inTimeFrom(driven, 500, 39)).toBeGreaterThan(0.98);
});

// Root cause: of a long queue the size leaves that is the quickest known, so that no size between it and the next known
// was ever tried: seven at a time, for ever, where 24 take hardly longer and more are slow.
test('a queue that is long before much is known is worked off', async () => {
  const durationMs = (cost: number) => (cost <= 24 ? 8 + 0.1 * cost : 20 + cost);
  const driven = new Driven(durationMs, { maxBatchSize: 64 });
  for (const count of [7, 200]) {
    for (let i = 0; i < count; i++) driven.arrive();
    await driven.clock.advance(50);
  }
  await driven.play(at(poissonTimes(seeded(1), durationMs(24) / (0.6 * 24), 6000)));
  const latencies = driven.latenciesMs.slice(-1000);
  expect(Math.max(...latencies)).toBeLessThan(5 * durationMs(24));
});
