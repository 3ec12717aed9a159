/** The forecast of arrivals: bursts and returning callers are predicted, independent arrivals are not. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Traffic } from '../src/learning/traffic.js';
import { exponential, seeded } from './support/random.js';

const BATCH_MS = 10;
const ROUND_TRIP_MS = 0.3;

/** Traffic that observes arrivals and batches. */
class World {
  readonly #traffic = new Traffic();
  now = 0;

  constructor() {
    this.#endedWith(1); // the forecast needs the duration of a batch
  }

  arrive(afterMs: number, count = 1): void {
    this.now += afterMs;
    this.#traffic.arrived(count, this.now);
  }

  endBatch(afterMs: number, callers: number): void {
    this.now += afterMs;
    this.#endedWith(callers);
  }

  #endedWith(callers: number): void {
    this.#traffic.batchEnded({ size: callers, cost: callers, callers, durationMs: BATCH_MS }, this.now);
  }

  /** The expected arrivals within the duration of a batch, `afterMs` from now, and the horizon. */
  foreseen(afterMs = 0, leastMs = 0, mostMs = BATCH_MS) {
    const { expected = 0, horizonMs = 0 } = this.#traffic.forecast(this.now + afterMs, leastMs, mostMs) ?? {};
    return { expected, horizonMs };
  }
}

test('before the first arrival no arrival is expected', () => {
  expect(new Traffic().forecast(0, 0, 10)).toBeUndefined();
  expect(new World().foreseen().expected).toBe(0);
});

describe('bursts', () => {
  /** `size` arrivals closely after each other, and then a pause. */
  function burst(world: World, size: number): void {
    for (let i = 0; i < size; i++) world.arrive(i === 0 ? 100 : 0.05);
  }

  test('are predicted: after the first arrival further ones are expected soon', () => {
    const world = new World();
    for (let i = 0; i < 100; i++) burst(world, 16);
    world.arrive(100);
    const { expected, horizonMs } = world.foreseen();
    expect(expected).toBeGreaterThan(1);
    expect(horizonMs).toBeLessThan(2);
  });

  test('are over when no arrival has followed for a while', () => {
    const world = new World();
    for (let i = 0; i < 100; i++) burst(world, 16);
    expect(world.foreseen(5).expected).toBeLessThan(0.5);
  });

  test('that have become rare are no longer predicted', () => {
    const world = new World();
    for (let i = 0; i < 50; i++) burst(world, 16);
    for (let i = 0; i < 1500; i++) world.arrive(30);
    expect(world.foreseen().expected).toBeLessThan(0.2);
  });
});

test('no more independent arrivals are expected than arrive', () => {
  for (const gapMs of [1, 4, 20]) {
    const random = seeded(gapMs);
    const world = new World();
    for (let i = 0; i < 500; i++) world.arrive(exponential(random, gapMs));
    let foreseen = 0;
    let come = 0;
    for (let i = 0; i < 1500; i++) {
      const { expected, horizonMs } = world.foreseen();
      foreseen += expected;
      come += horizonMs / gapMs;
      world.arrive(exponential(random, gapMs));
    }
    expect(foreseen).toBeLessThanOrEqual(1.1 * come);
  }
});

describe('returning callers', () => {
  /** A round of a closed loop: all callers get their answer and return soon. */
  function round(world: World, users: number, returning = users): void {
    world.endBatch(BATCH_MS, users);
    for (let i = 0; i < returning; i++) world.arrive(ROUND_TRIP_MS / users);
  }

  test.each([2, 8, 32])('are expected right after their answer: %i callers', (users) => {
    const world = new World();
    for (let i = 0; i < 60; i++) round(world, users);
    world.endBatch(BATCH_MS, users);
    world.arrive(ROUND_TRIP_MS / users); // the first has returned
    const { expected, horizonMs } = world.foreseen();
    expect(expected / horizonMs).toBeGreaterThan((0.3 * users) / ROUND_TRIP_MS);
    expect(expected).toBeLessThanOrEqual(users - 1);
  });

  test('are not expected again after their return', () => {
    const world = new World();
    for (let i = 0; i < 60; i++) round(world, 8);
    world.endBatch(BATCH_MS, 8);
    for (let i = 0; i < 8; i++) world.arrive(ROUND_TRIP_MS / 8);
    expect(world.foreseen().expected).toBeLessThan(1);
  });

  test('that do not return are no longer expected', () => {
    const world = new World();
    for (let i = 0; i < 60; i++) round(world, 8);
    for (let i = 0; i < 400; i++) {
      world.endBatch(BATCH_MS, 8);
      world.arrive(200);
    }
    world.endBatch(BATCH_MS, 8);
    expect(world.foreseen().expected).toBeLessThan(0.5);
  });
});

test('for any arrivals, the horizon is within the given limits', () => {
  const events = fc.array(
    fc.record({
      afterMs: fc.constantFrom(0, 0.001, 0.3, 5, 1e4),
      arrived: fc.constantFrom(1, 2, 100),
      answered: fc.constantFrom(0, 1, 50),
      durationMs: fc.constantFrom(0, 0.01, 10, 1e5),
    }),
    { maxLength: 80 },
  );
  const span = fc.tuple(fc.constantFrom(0, 1, 15), fc.constantFrom(0, 0.5, 10, 1e4));
  fc.assert(
    fc.property(events, span, fc.constantFrom(0, 0.5, 1e4), (events, [leastMs, mostMs], afterMs) => {
      const traffic = new Traffic();
      let now = 0;
      for (const { afterMs, arrived, answered, durationMs } of events) {
        now += afterMs;
        if (answered > 0) {
          traffic.batchEnded({ size: answered, cost: answered, callers: answered, durationMs }, now);
        } else traffic.arrived(arrived, now);
      }
      const at = now + afterMs;
      const best = traffic.forecast(at, leastMs, mostMs);
      if (best === undefined || best.expected === 0) return;
      expect(best.expected).toBeGreaterThan(0);
      expect(best.expected).toBeLessThan(Number.POSITIVE_INFINITY);
      expect(best.horizonMs).toBeGreaterThanOrEqual(leastMs);
      expect(best.horizonMs).toBeLessThanOrEqual(mostMs);
    }),
    { numRuns: 500 },
  );
});
