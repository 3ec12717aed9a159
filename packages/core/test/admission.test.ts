import {
  type Batcher,
  type BatcherOptions,
  type BatchwiseError,
  greedy,
  type Policy,
  type VirtualClock,
} from 'batchwise';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { expectRest } from './support/books.js';
import { CurvedBackend } from './support/curved-backend.js';
import { type Outcome, outcomeOf } from './support/outcome.js';
import { RecordingSink } from './support/recording-sink.js';

const BATCH = 8;
/** T(1) is 11.14, T(8) is 18.15. The fractions keep answers and deadlines off the same instant. */
const affine = (size: number) => 10 + Math.SQRT2 / 10 + size * 1.001;

async function learned(options: BatcherOptions<number> = {}) {
  const backend = new CurvedBackend(affine);
  // Greedy, so that the predictions can be worked out by hand.
  const batcher = await backend.knownTo(BATCH, { policy: greedy(), ...options });
  return { backend, batcher, clock: backend.clock };
}

/** Fills the slot and queues `waiting` items without a deadline. */
async function load(batcher: Batcher<number, number>, clock: VirtualClock, waiting: number): Promise<void> {
  for (let item = 0; item < BATCH + waiting; item++) {
    batcher.submit(item, { timeoutMs: Number.POSITIVE_INFINITY }).catch(() => {});
  }
  await clock.advance(0);
}

const retryAfterMs = ({ error }: Outcome<unknown>) => (error as BatchwiseError).retryAfterMs as number;

describe('an item that cannot be answered in time', () => {
  test('is rejected before enqueue() returns, never executed, and served after retryAfterMs', async () => {
    const { backend, batcher, clock } = await learned();
    await load(batcher, clock, 2 * BATCH);
    const sink = new RecordingSink<number>();
    batcher.enqueue(99, sink, { timeoutMs: 40 });
    expect(sink.fate).toBe('OVERLOADED');
    // The running batch, two batches ahead and its own take 3 × 18.15 + 11.14 = 65.6 ms, 25.6 ms beyond the deadline.
    // Later items may fill its own batch.
    const { retryAfterMs: waitMs } = sink.errors[0] as BatchwiseError & { retryAfterMs: number };
    expect(waitMs).toBeGreaterThan(25.59);
    expect(waitMs).toBeLessThan(25.59 + affine(BATCH));
    expect(batcher.stats()).toMatchObject({ refused: 1, refusals: { OVERLOADED: 1 }, queued: 16 });
    await clock.advance(waitMs);
    const again = outcomeOf(batcher.submit(100, { timeoutMs: 40 }));
    await clock.advance(40);
    expect(again.value).toBe(100);
    expect(backend.executed.map(({ item }) => item)).not.toContain(99);
  });

  test('waits for the remaining time of the running batch only', async () => {
    const { batcher, clock } = await learned();
    await load(batcher, clock, 0);
    // After 10 of the 18 ms, a batch of up to four items ends within 24 ms.
    const early = outcomeOf(batcher.submit(1, { timeoutMs: 24 }));
    await clock.advance(10);
    const late = outcomeOf(batcher.submit(2, { timeoutMs: 24 }));
    await clock.advance(24);
    expect([early.code, late.value]).toEqual(['OVERLOADED', 2]);
  });

  // Root cause: the estimate of the wait assumed batches that may still grow: 650 ms, for a slot that is free in 80 ms.
  test('has a retryAfterMs soon after the running batch if only small batches were measured', async () => {
    const backend = new CurvedBackend(() => 100);
    const { clock } = backend;
    const batcher = backend.batcher({ maxBatchSize: 100, targetLatencyMs: 150 });
    batcher.submit(1);
    await clock.advance(100);
    batcher.submit(2);
    await clock.advance(20);
    const rejected = outcomeOf(batcher.submit(3));
    await clock.advance(0);
    expect(rejected.code).toBe('OVERLOADED');
    expect(retryAfterMs(rejected)).toBeLessThanOrEqual(100);
    await clock.advance(retryAfterMs(rejected));
    const again = outcomeOf(batcher.submit(4));
    await clock.advance(150);
    expect(again.value).toBe(4);
  });

  // Root cause: because the upper bound of a batch exceeds the target, retryAfterMs lasted until the estimate is old.
  test('is served within three attempts if some batches take longer than its time', async () => {
    const backend = new CurvedBackend(() => 70);
    const { clock } = backend;
    const batcher = backend.batcher({ maxBatchSize: 1, targetLatencyMs: 100, admission: false });
    for (let item = 0; item < 64; item++) {
      backend.durationMs = () => (item % 2 === 0 ? 50 : 90);
      batcher.submit(item);
      await clock.advance(100);
    }
    batcher.configure({ admission: true });
    batcher.submit(64);
    await clock.advance(10);
    const rejected = outcomeOf(batcher.submit(65));
    await clock.advance(0);
    expect(rejected.code).toBe('OVERLOADED');
    let last = rejected;
    for (let attempt = 1; attempt <= 3 && last.code === 'OVERLOADED'; attempt++) {
      expect(retryAfterMs(last)).toBeLessThan(110);
      await clock.advance(retryAfterMs(last));
      last = outcomeOf(batcher.submit(66));
      await clock.advance(140);
    }
    expect(last.value).toBe(66);
  });

  test('is rejected by the target if that is earlier', async () => {
    const { batcher, clock } = await learned();
    await load(batcher, clock, 2 * BATCH);
    batcher.configure({ targetLatencyMs: 40 });
    const rejected = [{}, { timeoutMs: 100 }].map((options) => outcomeOf(batcher.submit(1, options)));
    await clock.advance(0);
    expect(rejected.map(({ code }) => code)).toEqual(['OVERLOADED', 'OVERLOADED']);
    const [waitMs, sameMs] = rejected.map(retryAfterMs) as [number, number];
    expect(sameMs).toBe(waitMs);
    expect(waitMs).toBeGreaterThan(25.59);
    expect(waitMs).toBeLessThan(25.59 + affine(BATCH));
  });

  test('by the target is rejected, but an admitted item is not cancelled at the target', async () => {
    const { backend, batcher, clock } = await learned({ targetLatencyMs: 40 });
    backend.durationMs = () => 500;
    const outcome = outcomeOf(batcher.submit(1));
    await clock.advance(500);
    expect(outcome.value).toBe(1);
  });

  test('is admitted if another slot is free', async () => {
    const { batcher, clock } = await learned({ concurrency: 2 });
    await load(batcher, clock, 0);
    const outcome = outcomeOf(batcher.submit(1, { timeoutMs: 12 }));
    await clock.advance(12);
    expect(outcome.value).toBe(1);
  });

  test('with one priority or tenant may be in time with another', async () => {
    const { batcher, clock } = await learned();
    for (let item = 0; item < 5 * BATCH; item++) batcher.submit(item, { tenant: 'busy' }).catch(() => {});
    await clock.advance(0);
    const options = { timeoutMs: 40, tenant: 'busy' };
    const rejected = outcomeOf(batcher.submit(1, options));
    const lower = outcomeOf(batcher.submit(2, { ...options, priority: -1 }));
    const urgent = outcomeOf(batcher.submit(3, { ...options, priority: 1 }));
    const other = outcomeOf(batcher.submit(4, { ...options, tenant: 'quiet' }));
    await clock.advance(40);
    expect([rejected.code, lower.code]).toEqual(['OVERLOADED', 'OVERLOADED']);
    expect([urgent.value, other.value]).toEqual([3, 4]);
  });

  test('in a request of several items rejects the request, and none of its items is executed', async () => {
    const { backend, batcher, clock } = await learned({ targetLatencyMs: 60 });
    const request = outcomeOf(batcher.submitMany(Array.from({ length: 100 }, (_, item) => 1000 + item)));
    const other = outcomeOf(batcher.submit(1));
    await clock.advance(100);
    expect([request.code, other.value]).toEqual(['OVERLOADED', 1]);
    expect(backend.executed).toHaveLength(1);
    expectRest(batcher);
  });
});

describe('a caller that retries after retryAfterMs while no other item arrives', () => {
  /** Submits, and again after `retryAfterMs` while rejected; returns the last outcome and its time. */
  async function retried(
    waiting: number,
    elapsedMs: number,
    timeoutMs: number,
    by: 'deadline' | 'target',
    attempts: number,
  ) {
    const { batcher, clock } = await learned();
    await load(batcher, clock, waiting);
    await clock.advance(elapsedMs);
    if (by === 'target') batcher.configure({ targetLatencyMs: timeoutMs });
    const options = by === 'deadline' ? { timeoutMs } : {};
    const firstAt = clock.now();
    for (let attempt = 1; ; attempt++) {
      const outcome = outcomeOf(batcher.submit(attempt, options));
      const afterMs = clock.now() - firstAt;
      await clock.advance(0);
      if (outcome.code !== 'OVERLOADED' || attempt === attempts) {
        await clock.advance(timeoutMs);
        return { outcome, afterMs };
      }
      await clock.advance(retryAfterMs(outcome));
    }
  }

  const waiting = fc.integer({ min: 0, max: 6 * BATCH });
  const elapsedMs = fc.double({ min: 0, max: 30, noNaN: true });
  const by = fc.constantFrom('deadline' as const, 'target' as const);
  const many = { numRuns: 1000 };

  test('is served within three attempts if its time is enough for a full batch', async () => {
    const timeoutMs = fc.integer({ min: 20, max: 120 });
    const served = fc.asyncProperty(waiting, elapsedMs, timeoutMs, by, async (...given) => {
      const { outcome } = await retried(...given, 3);
      expect(outcome.state).toBe('resolved');
    });
    await fc.assert(served, many);
  });

  // Root cause: retryAfterMs ended with the batch that it would have shared, which was dispatched before the retry.
  test('is served within three attempts if its time is enough for a small batch only', async () => {
    const timeoutMs = fc.integer({ min: 12, max: 19 });
    const served = fc.asyncProperty(waiting, elapsedMs, timeoutMs, by, async (...given) => {
      const { outcome } = await retried(...given, 3);
      expect(outcome.state).toBe('resolved');
    });
    await fc.assert(served, many);
  });

  test('is admitted once the estimate is old if its time is too short for a batch of one', async () => {
    const timeoutMs = fc.integer({ min: 1, max: 11 });
    const admitted = fc.asyncProperty(waiting, elapsedMs, timeoutMs, by, async (...given) => {
      const { outcome, afterMs } = await retried(...given, 2000);
      expect(outcome.code).not.toBe('OVERLOADED');
      // The batches ahead end first, and the latest estimate is used for a second.
      expect(afterMs).toBeLessThan(8 * affine(BATCH) + 1000 + 20);
    });
    await fc.assert(admitted, { numRuns: 30 });
  });
});

describe('with few measurements', () => {
  test('every item is admitted, however short its time', async () => {
    const backend = new CurvedBackend(affine);
    const batcher = backend.batcher({ targetLatencyMs: 1, timeoutMs: 12 });
    const outcome = outcomeOf(batcher.submit(1));
    await backend.clock.advance(12);
    expect(outcome.value).toBe(1);
  });

  test('items are not rejected forever because of a backend that was slow', async () => {
    const backend = new CurvedBackend(() => 5000);
    const batcher = backend.batcher({ targetLatencyMs: 100 });
    for (const item of [0, 1]) {
      const admitted = outcomeOf(batcher.submit(item));
      await backend.clock.advance(5000);
      expect(admitted.value).toBe(item);
    }
    backend.durationMs = () => 5;
    const atOnce = outcomeOf(batcher.submit(2));
    await backend.clock.advance(1001);
    const later = outcomeOf(batcher.submit(3));
    await backend.clock.advance(5);
    expect([atOnce.code, later.value]).toEqual(['OVERLOADED', 3]);
  });

  // Root cause: one batch was enough to reject all items for a second, and the first batch may include a model load.
  test.each([1, 3])('no item is rejected because of slow first batches in %i slots', async (concurrency) => {
    const backend = new CurvedBackend(() => 5000);
    const batcher = backend.batcher({ targetLatencyMs: 100, concurrency, maxBatchSize: 8 });
    const outcomes: Outcome<number>[] = [];
    const submit = (item: number) => outcomes.push(outcomeOf(batcher.submit(item)));
    for (let slot = 0; slot < concurrency; slot++) {
      submit(slot);
      await backend.clock.advance(1);
    }
    await backend.clock.advance(4999);
    backend.durationMs = () => 5;
    for (let item = concurrency; item < 50; item++) submit(item);
    await backend.clock.advance(100);
    expect(outcomes.map(({ value }) => value)).toEqual(Array.from({ length: 50 }, (_, item) => item));
    expectRest(batcher);
  });

  // Root cause: a running mean of a few batches keeps a fifth of one that took a thousand times as long.
  test('a slow first batch is forgotten after a few quick ones', async () => {
    const backend = new CurvedBackend(() => 5000);
    const batcher = backend.batcher({ targetLatencyMs: 100 });
    batcher.submit(0).catch(() => {});
    await backend.clock.advance(5000);
    backend.durationMs = () => 5;
    for (let probe = 1; probe <= 5; probe++) {
      await backend.clock.advance(1001);
      const outcome = outcomeOf(batcher.submit(probe));
      await backend.clock.advance(5);
      expect(outcome.value).toBe(probe);
    }
    const outcome = outcomeOf(batcher.submit(6));
    await backend.clock.advance(5);
    expect(outcome.value).toBe(6);
  });

  test('a full queue gives a retryAfterMs', async () => {
    const backend = new CurvedBackend(affine);
    const batcher = backend.batcher({ maxQueueSize: 1, maxBatchSize: 1 });
    const outcomes = [0, 1, 2].map((item) => outcomeOf(batcher.submit(item)));
    await backend.clock.advance(0);
    expect(outcomes[2]?.code).toBe('QUEUE_FULL');
    expect(retryAfterMs(outcomes[2] as Outcome<number>)).toBeGreaterThan(0);
  });
});

describe('a full queue', () => {
  test.each([BATCH, -1])(
    'gives a retryAfterMs after which there is room, with a maxBatchSize of %i',
    async (maxBatchSize) => {
      const { batcher, clock } = await learned({ maxBatchSize, maxQueueSize: 4 });
      await load(batcher, clock, 0);
      for (let item = 0; item < 4; item++) batcher.submit(item).catch(() => {});
      const rejected = outcomeOf(batcher.submit(1));
      await clock.advance(0);
      expect(rejected.code).toBe('QUEUE_FULL');
      expect(retryAfterMs(rejected)).toBeGreaterThan(0);
      expect(retryAfterMs(rejected)).toBeLessThan(60_000);
      await clock.advance(retryAfterMs(rejected));
      const again = outcomeOf(batcher.submit(2));
      await clock.advance(100);
      expect(again.value).toBe(2);
    },
  );
});

test('an item that the policy rejects gets OVERLOADED with retryAfterMs, and is never executed', async () => {
  const { backend, batcher, clock } = await learned();
  const policy: Policy = {
    name: 'rejects the head',
    decide: (view) =>
      view.length === 4
        ? { action: 'reject', positions: [0, 1] }
        : { action: 'dispatch', count: view.length, reason: 'deadline' },
  };
  batcher.configure({ policy });
  const outcomes = [0, 1, 2, 3].map((item) => outcomeOf(batcher.submit(item)));
  await clock.advance(100);
  expect(outcomes.map(({ code, value }) => code ?? value)).toEqual(['OVERLOADED', 'OVERLOADED', 2, 3]);
  expect(retryAfterMs(outcomes[0] as Outcome<number>)).toBeGreaterThan(0);
  expect(backend.executed.map(({ item }) => item)).toEqual([2, 3]);
  expectRest(batcher);
});

// Root cause: the whole queue was expected to be dispatched in one batch, though groups never share one.
test('retryAfterMs of an admitted item that is rejected later includes the batches of other groups', async () => {
  const backend = new CurvedBackend(() => 10);
  const { clock } = backend;
  const batcher = await backend.knownTo(BATCH, {
    policy: greedy(),
    admission: false,
    targetLatencyMs: 15,
    groupOf: (item) => item,
  });
  batcher.submit(0);
  await clock.advance(0);
  // One batch runs, and each of these is a group.
  const outcomes = [1, 2, 3].map((item) => outcomeOf(batcher.submit(item)));
  const rejecting: Policy = {
    name: 'rejecting',
    decide: () => ({ action: 'reject', positions: [0] }),
  };
  batcher.configure({ policy: rejecting });
  await clock.advance(10);
  // Item 1 was rejected with 2 and 3 in the queue: 2 × 10 + 10 - 15 ms of the target. An eighth of a batch is added.
  expect(outcomes.map(({ code }) => code)).toEqual(['OVERLOADED', 'OVERLOADED', 'OVERLOADED']);
  expect(outcomes.map(retryAfterMs)).toEqual([15, 5, 0].map((ms) => ms + 10 / 8));
});
