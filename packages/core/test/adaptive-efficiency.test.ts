/** `adaptive({ prefer: 'efficiency' })`: as few batches as possible while all items are in time. */
import { adaptive, greedy, type Policy, VirtualClock } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CoarseClock } from './support/coarse-clock.js';
import { type Arrival, at, Driven, pointsOf } from './support/driven.js';
import { burstTimes, exponential, normal, poissonTimes, seeded } from './support/random.js';

const straight = (cost: number) => 10 + 0.5 * cost;
const padded = (cost: number) => 4 + 0.5 * 2 ** Math.ceil(Math.log2(cost));
const TARGET_MS = 100;

/** A batcher whose curve has every batch size, as after long traffic. */
function driven(
  durationMs: (cost: number) => number,
  policy: Policy,
  options: ConstructorParameters<typeof Driven>[1] = {},
  clock = new VirtualClock(),
): Driven {
  const curve = pointsOf(durationMs, 32);
  return new Driven(
    durationMs,
    { policy, curve, maxBatchSize: 32, targetLatencyMs: TARGET_MS, ...options },
    clock,
  );
}

const efficient = () => adaptive({ prefer: 'efficiency' });

function expectAllInTime({ fates, codes, latenciesMs }: Driven, withinMs = TARGET_MS): void {
  expect(codes).toEqual([]);
  expect(latenciesMs).toHaveLength(fates.size);
  expect(Math.max(...latenciesMs)).toBeLessThanOrEqual(withinMs + 1e-6);
}

describe('a single item', () => {
  test.each([
    ['ideal timers', new VirtualClock(), 0],
    ['timers of Node', new CoarseClock(), 1],
  ])('is answered within the target, shortly before its end, with %s', async (_, clock, resolutionMs) => {
    const run = await driven(straight, efficient(), {}, clock).play([{ at: 5 }]);
    expectAllInTime(run);
    // After this time a batch of two items would miss the target.
    const latestStart = TARGET_MS - straight(2);
    const waitedMs = (run.batches[0]?.startedAt as number) - 5;
    expect(waitedMs).toBeGreaterThanOrEqual(latestStart - 2 * resolutionMs - 1e-6);
  });

  test('is answered by its own deadline if that is earlier', async () => {
    const run = await driven(straight, efficient()).play([{ at: 0, timeoutMs: 40 }]);
    expectAllInTime(run, 40);
    expect(run.latenciesMs[0]).toBeGreaterThan(30);
  });

  test('without a target and a deadline is not held', async () => {
    const run = await driven(straight, efficient(), { targetLatencyMs: Number.POSITIVE_INFINITY }).play([
      { at: 0 },
    ]);
    expect(run.batches[0]?.startedAt).toBe(0);
  });
});

describe('the most urgent item sets the start of the batch,', () => {
  test('also if it arrived later', async () => {
    const run = await driven(straight, efficient()).play([
      { at: 0 },
      { at: 1 },
      { at: 2, timeoutMs: 30 },
      { at: 3 },
    ]);
    expect(run.codes).toEqual([]);
    expect(run.batches.map(({ context }) => context.size)).toEqual([4]);
    expect(run.batches[0]?.endsAt).toBeLessThanOrEqual(32);
  });

  test('also if items of higher priority precede it', async () => {
    const run = await driven(straight, efficient()).play([
      { at: 0, timeoutMs: 45, priority: -1 },
      { at: 10, priority: 1 },
      { at: 20, priority: 2 },
    ]);
    expect(run.codes).toEqual([]);
    expect(run.batches.map(({ context }) => context.size)).toEqual([3]);
    expect(run.batches[0]?.endsAt).toBeLessThanOrEqual(45);
  });
});

describe('at low load, with exact durations,', () => {
  const times = fc
    .record({
      kind: fc.constantFrom('poisson', 'bursts', 'steady'),
      gapMs: fc.integer({ min: 4, max: 60 }),
      seed: fc.nat(1e6),
    })
    .map(({ kind, gapMs, seed }) => {
      const random = seeded(seed);
      if (kind === 'poisson') return poissonTimes(random, gapMs, 60);
      if (kind === 'bursts') return burstTimes(random, 6, 2, 6 * gapMs, 10);
      return Array.from({ length: 60 }, (_, i) => i * gapMs);
    });

  test.each([
    ['straight', straight],
    ['padded', padded],
  ])('all items are in time, in no more batches than with greedy(): %s', async (_, durationMs) => {
    await fc.assert(
      fc.asyncProperty(times, fc.boolean(), async (moments, isCoarse) => {
        const clock = () => (isCoarse ? new CoarseClock() : new VirtualClock());
        const ours = await driven(durationMs, efficient(), {}, clock()).play(at(moments));
        const withGreedy = await driven(durationMs, greedy(), {}, clock()).play(at(moments));
        expectAllInTime(ours);
        expect(ours.batches.length).toBeLessThanOrEqual(withGreedy.batches.length);
        expect(ours.busyMs).toBeLessThanOrEqual(withGreedy.busyMs + 1e-6);
      }),
      { numRuns: 25 },
    );
  });

  test.each([
    ['straight', straight],
    ['padded', padded],
  ])('all items with different deadlines and priorities are in time: %s', async (_, durationMs) => {
    const caller = fc.record({
      gapMs: fc.integer({ min: 8, max: 60 }),
      timeoutMs: fc.constantFrom(60, 90, 100, 400),
      priority: fc.constantFrom(0, 0, 1, -1),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(caller, { minLength: 5, maxLength: 60 }), async (callers) => {
        let time = 0;
        const arrivals: Arrival[] = callers.map(({ gapMs, ...options }) => {
          time += gapMs;
          return { at: time, ...options };
        });
        const run = await driven(durationMs, efficient()).play(arrivals);
        expectAllInTime(run);
      }),
      { numRuns: 30 },
    );
  });

  // Root cause: each group was held until its latest start without regard to the other groups, so of two groups with
  // the same latest start one was late.
  test('all items of all groups are in time', async () => {
    const random = seeded(3);
    let time = 0;
    const arrivals = Array.from({ length: 60 }, () => {
      time += exponential(random, 25);
      return { at: time, group: Math.floor(3 * random()) };
    });
    const run = await driven(straight, efficient(), { groupOf: ({ group }) => group }).play(arrivals);
    expectAllInTime(run);
  });

  // Root cause: the hold was planned for a batch up to the step. When more items arrived, one batch of all items was
  // more efficient, and it was dispatched without a check of the deadlines.
  test('all items are in time if a growing batch is padded to the next size', async () => {
    const arrivals = [
      { at: 8, timeoutMs: 90 },
      { at: 20, timeoutMs: 100, priority: 1 },
      ...[42, 75, 83, 91].map((moment) => ({ at: moment, timeoutMs: 60 })),
    ];
    expectAllInTime(await driven(padded, efficient()).play(arrivals));
  });

  test('the backend time is less than half of that of greedy()', async () => {
    const moments = poissonTimes(seeded(1), 6, 400);
    const ours = await driven(straight, efficient()).play(at(moments));
    const withGreedy = await driven(straight, greedy()).play(at(moments));
    expectAllInTime(ours);
    expect(ours.busyMs).toBeLessThan(0.5 * withGreedy.busyMs);
  });
});

describe('on a backend that pads,', () => {
  // Root cause: the rules for latency decided about a full queue, and dispatched a part of it because that is quicker.
  test('a full queue is dispatched as one batch', async () => {
    const run = await driven(padded, efficient()).play(at(poissonTimes(seeded(2), 2.2, 3000)));
    expectAllInTime(run);
    const full = run.batches.filter(({ context }) => context.reason === 'full');
    expect(full.length).toBeGreaterThan(20);
    expect(new Set(full.map(({ context }) => context.size))).toEqual(new Set([32]));
  });

  // Root cause: the latest start and the check at that time used sums with different rounding, so an item that was late
  // by the last bit was rejected.
  test('no item is rejected because of a rounding error', async () => {
    const eights = (cost: number) => 3 + 1.2 * Math.ceil(cost / 8);
    const run = driven(eights, efficient(), { targetLatencyMs: 25.2 });
    await run.play(at(poissonTimes(seeded(1), 2, 2000)));
    expectAllInTime(run, 25.2);
  });

  // Root cause: only throughput was compared, not the latest start of the items that stay for the next batch, which is
  // earlier if they have waited for long.
  test.each([
    ['stay for the next batch if they arrived just now', 79, [8, 1]],
    ['are dispatched too if they have waited for long', 30, [9]],
  ])('items beyond a step %s', async (_, lastAt, sizes) => {
    const steep = (cost: number) => 4 + 2 * Math.ceil(cost / 8);
    const run = driven(steep, efficient());
    await run.play(at([...Array.from({ length: 60 }, (_, i) => i * 10), 1000]), 1100);
    const before = run.batches.length;
    await run.play(at([0, 1, 2, 3, 4, 5, 6, 7, lastAt]), 300);
    expect(run.batches.slice(before).map(({ context }) => context.size)).toEqual(sizes);
    expectAllInTime(run);
  });
});

// Root cause: the expected number of late items of a slow batch was computed from the mean gap of all arrivals. In a
// burst all items are late together, so the margin was too small, and smaller the larger the burst.
test('with varying durations, few items of a burst are late', async () => {
  const random = seeded(1);
  const noisy = (cost: number) => (10 + 0.1 * cost) * (1 + 0.05 * normal(random));
  const run = driven(noisy, efficient(), { maxBatchSize: 200 });
  await run.play(at(burstTimes(random, 60, 0, 150, 300)));
  expect(run.codes).toEqual([]);
  const late = run.latenciesMs.filter((ms) => ms > TARGET_MS + 1e-6);
  expect(late.length).toBeLessThan(0.02 * run.fates.size);
});

test('the preference can be changed at run time', async () => {
  const run = driven(straight, efficient());
  await run.play([{ at: 0 }], 300);
  expect(run.latenciesMs[0]).toBeGreaterThan(80);
  run.batcher.configure({ policy: adaptive() });
  await run.play([{ at: 0 }], 300);
  expect(run.latenciesMs[1]).toBeCloseTo(straight(1), 6);
});
