/** Who is about to come: bursts and callers who come back are foreseen, chance is not. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ArrivalRate } from '../src/learning/arrival-rate.js';
import { ArrivalForecast } from '../src/policy/arrival-forecast.js';
import { exponential, seeded } from './support/random.js';

const BATCH_MS = 10;
const ROUND_TRIP_MS = 0.3;

/** A forecast that is told of arrivals and batches, with the rate that goes with them. */
class World {
  readonly forecast = new ArrivalForecast();
  readonly #rate = new ArrivalRate();
  now = 0;

  constructor() {
    this.forecast.batchEnded(1, BATCH_MS, 0); // it begins to learn when it knows how long a batch takes
  }

  arrive(afterMs: number, count = 1): void {
    this.now += afterMs;
    this.forecast.arrived(count, this.now);
    this.#rate.record(count, this.now);
  }

  endBatch(afterMs: number, callers: number): void {
    this.now += afterMs;
    this.forecast.batchEnded(callers, BATCH_MS, this.now);
  }

  /** How many are foreseen, at so much from now, to come within a batch's time, and when. */
  foreseen(afterMs = 0, leastMs = 0, mostMs = BATCH_MS) {
    const at = this.now + afterMs;
    const { expected = 0, horizonMs = 0 } =
      this.forecast.best(at, leastMs, mostMs, this.#rate.ratePerMs(at)) ?? {};
    return { expected, horizonMs };
  }
}

test('before anything was seen, nobody is', () => {
  expect(new ArrivalForecast().best(0, 0, 10, 0)?.expected ?? 0).toBe(0);
  expect(new World().foreseen().expected).toBe(0);
});

describe('bursts', () => {
  /** So many, one closely after another, and then nothing for long. */
  function burst(world: World, size: number): void {
    for (let i = 0; i < size; i++) world.arrive(i === 0 ? 100 : 0.05);
  }

  test('are foreseen: after the first of one, others are expected soon', () => {
    const world = new World();
    for (let i = 0; i < 100; i++) burst(world, 16);
    world.arrive(100);
    const { expected, horizonMs } = world.foreseen();
    expect(expected).toBeGreaterThan(1);
    expect(horizonMs).toBeLessThan(2);
  });

  test('are over when nobody has followed for a while', () => {
    const world = new World();
    for (let i = 0; i < 100; i++) burst(world, 16);
    expect(world.foreseen(5).expected).toBeLessThan(0.5);
  });

  test('that have become rare are foreseen no longer', () => {
    const world = new World();
    for (let i = 0; i < 50; i++) burst(world, 16);
    for (let i = 0; i < 1500; i++) world.arrive(30);
    expect(world.foreseen().expected).toBeLessThan(0.2);
  });
});

test('of those who know nothing of each other, no more are foreseen than come', () => {
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

describe('callers who come back', () => {
  /** A round of a closed loop: all are answered, and come back within a moment. */
  function round(world: World, users: number, comeBack = users): void {
    world.endBatch(BATCH_MS, users);
    for (let i = 0; i < comeBack; i++) world.arrive(ROUND_TRIP_MS / users);
  }

  test.each([2, 8, 32])('are foreseen after an answer, as quickly as they come: %i', (users) => {
    const world = new World();
    for (let i = 0; i < 60; i++) round(world, users);
    world.endBatch(BATCH_MS, users);
    world.arrive(ROUND_TRIP_MS / users); // the first is here
    const { expected, horizonMs } = world.foreseen();
    expect(expected / horizonMs).toBeGreaterThan((0.3 * users) / ROUND_TRIP_MS);
    expect(expected).toBeLessThanOrEqual(users - 1);
  });

  test('are not foreseen twice: who is back is not away', () => {
    const world = new World();
    for (let i = 0; i < 60; i++) round(world, 8);
    world.endBatch(BATCH_MS, 8);
    for (let i = 0; i < 8; i++) world.arrive(ROUND_TRIP_MS / 8);
    expect(world.foreseen().expected).toBeLessThan(1);
  });

  test('and stay away are foreseen no longer', () => {
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

test('whatever it is told, what it says is within what was asked for', () => {
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
      const forecast = new ArrivalForecast();
      const rate = new ArrivalRate();
      let now = 0;
      for (const { afterMs, arrived, answered, durationMs } of events) {
        now += afterMs;
        if (answered > 0) forecast.batchEnded(answered, durationMs, now);
        else {
          forecast.arrived(arrived, now);
          rate.record(arrived, now);
        }
      }
      const at = now + afterMs;
      const best = forecast.best(at, leastMs, mostMs, rate.ratePerMs(at));
      if (best === undefined || best.expected === 0) return;
      expect(best.expected).toBeGreaterThan(0);
      expect(best.expected).toBeLessThan(Number.POSITIVE_INFINITY);
      expect(best.horizonMs).toBeGreaterThanOrEqual(leastMs);
      expect(best.horizonMs).toBeLessThanOrEqual(mostMs);
    }),
    { numRuns: 500 },
  );
});
