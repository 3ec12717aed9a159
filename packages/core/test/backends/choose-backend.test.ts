/** The rule that chooses the backend of a batch. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chooseBackend, type Demand } from '../../src/backends/choose-backend.js';
import type { LearnedBackend } from '../../src/backends/learned-backend.js';

interface Making {
  readonly slots?: number;
  readonly freeSlots?: number;
  /** The expected remaining times of its batches. */
  readonly busyMs?: readonly (number | undefined)[];
  readonly isTrialDue?: boolean;
  readonly doubtfulUntil?: number;
  readonly answeredAt?: number;
  mean?(cost: number): number | undefined;
}

/** What the choice reads of a backend. */
function made(durationMs: number | undefined, making: Making = {}) {
  const { slots = 1, busyMs = [], isTrialDue = false, answeredAt = 0 } = making;
  const { doubtfulUntil = Number.NEGATIVE_INFINITY } = making;
  const running = busyMs.map((leftMs) => ({
    cost: 1,
    startedAt: leftMs ?? 0,
    expectedMs: leftMs === undefined ? undefined : 0,
  }));
  const backend = {
    slots,
    freeSlots: making.freeSlots ?? Math.max(0, slots - running.length),
    member: { running, isTrialDue, health: { doubtfulUntil } },
    curve: { mean: making.mean ?? (() => durationMs) },
    answeredAt,
  };
  return Object.assign(backend as unknown as LearnedBackend, { durationMs });
}

type Made = ReturnType<typeof made>;

const choose = (all: readonly Made[], rotation = 0, demand: Partial<Demand> = {}) =>
  chooseBackend(
    all,
    { queuedCost: 1, costPerMs: 0, maxBatchSize: 1, isRetry: false, ...demand },
    rotation,
    0,
  );

// Root cause: the whole queue was divided among the slots, in steps of one batch.
test('a longer queue than the backends can serve soon is not divided further', () => {
  let predictions = 0;
  const counted = (durationMs: number) => {
    const mean = () => {
      predictions += 1;
      return durationMs;
    };
    return made(durationMs, { mean });
  };
  const choice = choose([counted(10), counted(30)], 0, { queuedCost: 1e6, maxBatchSize: 8 });
  expect(choice).toMatchObject({ maxCost: Infinity, holdUntil: undefined });
  expect(predictions).toBeLessThan(1000);
});

describe('a batch', () => {
  test('goes to the free backend with the earliest predicted completion', () => {
    const [slow, fast] = [made(30), made(10)];
    expect(choose([slow, fast])).toMatchObject({ backend: fast, holdUntil: undefined });
  });

  test('goes to the less busy of equal backends, and otherwise to each in rotation', () => {
    const equals = [made(10), made(11), made(10, { slots: 2, busyMs: [5] })];
    const chosen = [0, 1, 2].map((rotation) => choose(equals, rotation)?.backend as Made);
    expect(chosen.map((backend) => equals.indexOf(backend))).toEqual([0, 1, 0]);
  });

  test('goes to a backend without measurements while that is idle', () => {
    const [known, unknown] = [made(10), made(undefined, { slots: 2 })];
    expect(choose([known, unknown])?.backend).toBe(unknown);
    const tried = made(undefined, { slots: 2, busyMs: [3] });
    expect(choose([known, tried])?.backend).toBe(known);
  });

  test('goes to a slow backend again after a while', () => {
    const slow = made(400, { answeredAt: -10_001 });
    expect(choose([made(20), slow])?.backend).toBe(slow);
  });

  test('goes to a backend whose trial is due, however slow it was', () => {
    const trial = made(400, { isTrialDue: true });
    expect(choose([made(20), trial])?.backend).toBe(trial);
  });

  test('goes to another backend if one has failed recently', () => {
    const doubtful = made(5, { doubtfulUntil: 200 });
    const other = made(20);
    expect(choose([doubtful, other])?.backend).toBe(other);
    expect(choose([doubtful, doubtful])).toMatchObject({ backend: doubtful, holdUntil: undefined });
    // Root cause: without a limit of failures, a retry at the moment of the failure went to the same backend.
    expect(choose([made(5, { doubtfulUntil: 0 }), other])?.backend).toBe(other);
  });

  test('that was not started is held until another backend is free, at most while its own is doubtful', () => {
    const retry = (doubtfulUntil: number, busyMs: readonly number[]) =>
      choose([made(5, { doubtfulUntil }), made(20, { busyMs })], 0, { isRetry: true })?.holdUntil;
    expect(retry(200, [9])).toBe(9);
    expect(retry(4, [9])).toBe(4);
    const unknown = made(undefined, { busyMs: [undefined] });
    expect(
      choose([made(5, { doubtfulUntil: 200 }), unknown], 0, { isRetry: true })?.holdUntil,
    ).toBeUndefined();
    // One failure does not reduce the capacity for batches that are no retries.
    expect(choose([made(5, { doubtfulUntil: 200 }), made(20, { busyMs: [9] })])?.holdUntil).toBeUndefined();
  });

  test('is held for a faster backend if its completion is expected earlier there', () => {
    const fast = made(10, { busyMs: [5] });
    expect(choose([made(30), fast])?.holdUntil).toBe(5);
    expect(choose([made(15), fast])?.holdUntil).toBeUndefined();
    expect(choose([made(30), made(10, { busyMs: [25] })])?.holdUntil).toBeUndefined();
  });

  // Root cause: the rotation chose one of the free backends, the queue was left to another free one, and the batch was
  // held for that, again and again until another item came.
  test('is not held for another free backend', () => {
    const all = [made(90), made(0.8), made(0.9), made(0.95)];
    const choices = [0, 1, 2, 3].map((rotation) => choose(all, rotation));
    expect(choices.map((choice) => choice?.holdUntil)).toEqual([undefined, undefined, undefined, undefined]);
  });

  test('is not held for a faster backend if further items are queued', () => {
    const fast = made(10, { busyMs: [5] });
    expect(choose([made(30), fast], 0, { queuedCost: 4 })?.holdUntil).toBeUndefined();
  });

  test('is not held for a faster backend if enough items arrive until that is free', () => {
    const [slow, fast] = [made(30), made(10, { busyMs: [9] })];
    const demand = { queuedCost: 2, maxBatchSize: 8 };
    expect(choose([slow, fast], 0, demand)?.holdUntil).toBe(9);
    expect(choose([slow, fast], 0, { ...demand, costPerMs: 2 })?.holdUntil).toBeUndefined();
  });

  test('is limited to the items that a faster backend would not complete sooner', () => {
    const slow = made(30, { mean: (cost) => 3 * cost });
    const fast = made(10, { busyMs: [1], mean: (cost) => cost });
    const choice = choose([slow, fast], 0, { queuedCost: 32, maxBatchSize: 64 });
    expect(choice?.backend).toBe(slow);
    expect(choice?.maxCost).toBeGreaterThan(4);
    expect(choice?.maxCost).toBeLessThan(12);
  });

  test('is not limited for an equal backend, because the policy decides about that', () => {
    const demand = { queuedCost: 32, maxBatchSize: 64 };
    expect(choose([made(10), made(11, { busyMs: [1] })], 0, demand)).toMatchObject({ maxCost: Infinity });
  });

  test('is not held for a backend that hangs', () => {
    // Root cause: a batch that hangs counted as completed from its expected end on.
    expect(choose([made(30), made(10, { busyMs: [-500] })])?.holdUntil).toBeUndefined();
  });

  test('has no backend if none has a free slot', () => {
    expect(choose([])).toBeUndefined();
    expect(choose([made(10, { busyMs: [1] })])).toBeUndefined();
    expect(choose([made(10, { busyMs: [1] }), made(10, { busyMs: [1] })])).toBeUndefined();
  });
});

test('a batch is held only for a busy backend', () => {
  const candidates = fc.array(
    fc.record({ ms: fc.double({ min: 0.1, max: 500, noNaN: true }), slots: fc.integer({ min: 1, max: 4 }) }),
    { minLength: 1, maxLength: 6 },
  );
  fc.assert(
    fc.property(candidates, fc.nat(9), fc.integer({ min: 1, max: 300 }), (drawn, rotation, queuedCost) => {
      const idle = drawn.map(({ ms, slots }) => made(ms, { slots }));
      expect(choose(idle, rotation, { queuedCost, maxBatchSize: 32 })?.holdUntil).toBeUndefined();
    }),
  );
});

test('the chosen backend has a free slot, and its duration is at most a quarter above the lowest', () => {
  const backend = fc
    .record({ ms: fc.integer({ min: 1, max: 100 }), slots: fc.integer({ min: 1, max: 3 }), busy: fc.nat(3) })
    .map(({ ms, slots, busy }) => made(ms, { slots, busyMs: Array(Math.min(slots, busy)).fill(5) }));
  const property = fc.property(fc.array(backend), fc.nat(), (all, rotation) => {
    const free = all.filter(({ freeSlots }) => freeSlots > 0);
    const chosen = choose(all, rotation)?.backend;
    if (free.length === 0) expect(chosen).toBeUndefined();
    else {
      expect(free).toContain(chosen);
      const least = Math.min(...free.map(({ durationMs }) => durationMs as number));
      expect((chosen as Made).durationMs).toBeLessThanOrEqual(1.25 * least);
    }
  });
  fc.assert(property);
});
