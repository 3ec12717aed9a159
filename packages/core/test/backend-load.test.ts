/** Which of several backends gets a batch: the rule alone, and what each of them is expected to take. */
import { BackendLoad, type Loaded, leastLoaded } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

interface Made extends Loaded {
  readonly waitMs: number;
}

const made = (waitMs: number, running = 0): Made => ({
  running: { size: running },
  waitMs,
  predictedWaitMs: () => waitMs,
});

const anyBackend = fc
  .record({ waitMs: fc.oneof(fc.integer({ min: 0, max: 100 }), fc.constant(Infinity)), running: fc.nat(4) })
  .map(({ waitMs, running }) => made(waitMs, running));

/** Has answered batches of cost 1, all in so long. */
function known(durationMs: number, at = 0): BackendLoad {
  const load = new BackendLoad();
  for (let i = 0; i < 3; i++) load.curve.record(1, durationMs, at);
  return load;
}

describe('the least loaded', () => {
  test('is not expected to take more than a quarter above the least', () => {
    const property = fc.property(fc.array(anyBackend, { minLength: 1 }), fc.nat(), (all, turn) => {
      const least = Math.min(...all.map(({ waitMs }) => waitMs));
      expect(leastLoaded(all, 1, turn, 0)?.waitMs).toBeLessThanOrEqual(1.25 * least);
    });
    fc.assert(property);
  });

  test('is in turn among equals, the idle first', () => {
    const equals = [made(8), made(8), made(8, 1), made(9)];
    const chosen = [0, 1, 2, 3].map((turn) => equals.indexOf(leastLoaded(equals, 1, turn, 0) ?? made(0)));
    expect(chosen).toEqual([0, 1, 3, 0]);
  });

  test('is none where there is none', () => {
    expect(leastLoaded([], 1, 3, 0)).toBeUndefined();
  });
});

describe('a backend', () => {
  test('that nothing is known of is tried, with one batch', () => {
    const load = new BackendLoad();
    expect(load.predictedWaitMs(1, 0)).toBe(0);
    load.begin(1, 0);
    expect(load.predictedWaitMs(1, 0)).toBe(Number.POSITIVE_INFINITY);
  });

  test('is expected to do what runs there first', () => {
    const load = known(10);
    const first = load.begin(1, 0);
    load.begin(1, 4);
    expect(load.predictedWaitMs(1, 5)).toBeCloseTo(10 + 5 + 9);
    load.end(first);
    expect(load.predictedWaitMs(1, 5)).toBeCloseTo(10 + 9);
  });

  test('that is overdue is expected to take as long again', () => {
    // A call that hangs counted as done from the moment it was due, so its backend looked as quick as ever.
    const load = known(10);
    load.begin(1, 0);
    expect(load.predictedWaitMs(1, 500)).toBeCloseTo(10 + 490);
  });

  test('that was slow long ago is tried again, with one batch', () => {
    const load = known(400);
    expect(load.predictedWaitMs(1, 10_000)).toBeCloseTo(400);
    expect(load.predictedWaitMs(1, 10_001)).toBe(0);
    load.begin(1, 10_001);
    expect(load.predictedWaitMs(1, 10_001)).toBeCloseTo(800);
  });
});
