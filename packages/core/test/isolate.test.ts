import { Batcher, type BatcherOptions, type BatchwiseError, VirtualClock } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { expectRest } from './support/books.js';
import { Gate } from './support/gate.js';
import { type Outcome, outcomeOf } from './support/outcome.js';
import { RecordingSink } from './support/recording-sink.js';

class Poisoned extends Error {}

/** A handler that throws when its batch has a faulty item, and records its batches. */
function poisonable(guilty: ReadonlySet<number>, how: 'sync' | 'async') {
  const calls: number[][] = [];
  const run = (items: number[]): number[] => {
    calls.push([...items]);
    const culprit = items.find((item) => guilty.has(item));
    if (culprit !== undefined) throw new Poisoned(`cannot take ${culprit}`);
    return items.map((item) => item * 10);
  };
  const handler = how === 'sync' ? run : async (items: number[]) => run(items);
  return { calls, handler };
}

async function submitAll(count: number, handler: (items: number[]) => number[] | Promise<number[]>) {
  const clock = new VirtualClock();
  const options = { clock, isolate: true, maxBatchSize: count };
  const batcher = new Batcher<number, number>(handler, options);
  const outcomes = Array.from({ length: count }, (_, item) => outcomeOf(batcher.submit(item)));
  await clock.advance(0);
  return { batcher, outcomes };
}

function expectOnlyGuiltyFail(outcomes: readonly Outcome<number>[], guilty: ReadonlySet<number>): void {
  for (const [item, outcome] of outcomes.entries()) {
    expect(outcome.settled).toBe(1);
    if (!guilty.has(item)) {
      expect(outcome.value).toBe(item * 10);
      continue;
    }
    expect(outcome.code).toBe('HANDLER_FAILED');
    expect((outcome.error as BatchwiseError).cause).toEqual(new Poisoned(`cannot take ${item}`));
  }
}

describe.each(['sync', 'async'] as const)('with a handler that is %s', (how) => {
  test('one faulty item of 64 fails with its own cause, and 63 get their results', async () => {
    const guilty = new Set([41]);
    const { calls, handler } = poisonable(guilty, how);
    const { batcher, outcomes } = await submitAll(64, handler);
    expectOnlyGuiltyFail(outcomes, guilty);
    // Each halving of 64 costs two calls: 1 + 2 × log₂ 64.
    expect(calls).toHaveLength(13);
    expect(batcher.stats()).toMatchObject({ batches: 1, batchedItems: 64, succeeded: 63, failed: 1 });
    expectRest(batcher);
  });

  test('exactly the faulty items fail, in at most 2n − 1 calls, none of them larger than the batch', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 40 }).chain((count) =>
          fc.record({
            count: fc.constant(count),
            guilty: fc.uniqueArray(fc.nat(count - 1)).map((items) => new Set(items)),
          }),
        ),
        async ({ count, guilty }) => {
          const { calls, handler } = poisonable(guilty, how);
          const { batcher, outcomes } = await submitAll(count, handler);
          expectOnlyGuiltyFail(outcomes, guilty);
          expect(calls.length).toBeLessThanOrEqual(2 * count - 1);
          for (const items of calls) expect(new Set(items).size).toBe(items.length);
          expect(batcher.stats()).toMatchObject({
            batches: 1,
            succeeded: count - guilty.size,
            failed: guilty.size,
          });
          expectRest(batcher);
        },
      ),
    );
  });

  test('no answered item is executed again', async () => {
    const guilty = new Set([0, 5]);
    const { calls, handler } = poisonable(guilty, how);
    await submitAll(8, handler);
    const answered = new Set<number>();
    for (const items of calls) {
      expect(items.filter((item) => answered.has(item))).toEqual([]);
      if (!items.some((item) => guilty.has(item))) for (const item of items) answered.add(item);
    }
    expect(answered.size).toBe(6);
  });
});

function gated(options: BatcherOptions<number> = {}) {
  const clock = new VirtualClock();
  const gate = new Gate<number, number>();
  const batcher = new Batcher(gate.handler, { clock, isolate: true, ...options });
  return { clock, gate, batcher };
}

describe('while a batch is bisected', () => {
  test('it keeps its one slot: its parts run one after another, and the next batch waits', async () => {
    const { clock, gate, batcher } = gated({ maxBatchSize: 4 });
    const outcomes = Array.from({ length: 6 }, (_, item) => outcomeOf(batcher.submit(item)));
    await clock.advance(0);
    const expected = [[0, 1, 2, 3], [0, 1], [2, 3], [2], [3], [4, 5]];
    for (const [index, items] of expected.entries()) {
      expect(gate.batches).toEqual(expected.slice(0, index + 1));
      expect(batcher.stats().batchesRunning).toBe(1);
      if (items.includes(2) && items.length > 1) gate.call(index).fail(new Poisoned('2'));
      else gate.call(index).answer(items);
      await clock.advance(0);
    }
    expect(outcomes.map(({ value }) => value)).toEqual([0, 1, 2, 3, 4, 5]);
    expectRest(batcher);
  });

  test('with several slots, the limit of running batches holds', async () => {
    const { clock, gate, batcher } = gated({ maxBatchSize: 2, concurrency: 2 });
    for (let item = 0; item < 8; item++) batcher.submit(item).catch(() => {});
    await clock.advance(0);
    for (const call of [0, 1]) gate.call(call).fail(new Poisoned());
    await clock.advance(0);
    expect(gate.batches).toEqual([[0, 1], [2, 3], [0], [2]]);
    expect(batcher.stats()).toMatchObject({ batchesRunning: 2, queued: 4 });
    batcher.destroy();
  });

  test('a cancelled item is not executed again', async () => {
    const { clock, gate, batcher } = gated();
    const sinks = [0, 1, 2, 3].map(() => new RecordingSink<number>());
    const tickets = sinks.map((sink, item) => batcher.enqueue(item, sink));
    await clock.advance(0);
    tickets[0]?.cancel();
    gate.call(0).fail(new Poisoned());
    await clock.advance(0);
    expect(gate.batches.slice(1)).toEqual([[1]]);
    tickets[3]?.cancel();
    gate.call(1).answer([10]);
    await clock.advance(0);
    expect(gate.batches.slice(2)).toEqual([[2]]);
    expect(gate.call(2).context).toMatchObject({ size: 1, cost: 1 });
    gate.call(2).answer([20]);
    await clock.advance(0);
    expect(sinks.map(({ fate }) => fate)).toEqual(['CANCELLED', 'ok', 'ok', 'CANCELLED']);
    expectRest(batcher);
  });

  test('no part is run again after all callers have cancelled and the signal has fired', async () => {
    const { clock, gate, batcher } = gated();
    const tickets = [0, 1, 2, 3].map((item) => batcher.enqueue(item, new RecordingSink<number>()));
    await clock.advance(0);
    gate.call(0).fail(new Poisoned());
    await clock.advance(0);
    for (const ticket of tickets) ticket.cancel();
    expect(gate.call(1).context.signal.aborted).toBe(true);
    gate.call(1).fail(new Poisoned());
    await clock.advance(0);
    expect(gate.calls).toHaveLength(2);
    expectRest(batcher);
  });

  test('each call has handlerTimeoutMs to itself; a part that hangs fails alone', async () => {
    const { clock, gate, batcher } = gated({ handlerTimeoutMs: 100 });
    const outcomes = [0, 1, 2, 3].map((item) => outcomeOf(batcher.submit(item)));
    await clock.advance(90);
    gate.call(0).fail(new Poisoned());
    await clock.advance(99);
    expect(outcomes.every(({ state }) => state === 'pending')).toBe(true);
    expect(gate.batches).toEqual([
      [0, 1, 2, 3],
      [0, 1],
    ]);
    await clock.advance(1);
    expect(outcomes.map(({ code }) => code)).toEqual([
      'HANDLER_TIMEOUT',
      'HANDLER_TIMEOUT',
      undefined,
      undefined,
    ]);
    expect([gate.call(1), gate.call(2)].map(({ context }) => context.signal.aborted)).toEqual([true, false]);
    gate.call(2).answer([20, 30]);
    await clock.advance(0);
    expect(outcomes.map(({ value }) => value)).toEqual([undefined, undefined, 20, 30]);
    expectRest(batcher);
    expect(clock.pendingTimers).toBe(0);
  });

  test('an item that expires between two calls is rejected then, and not executed again', async () => {
    const { clock, gate, batcher } = gated();
    const late = outcomeOf(batcher.submit(0, { timeoutMs: 50 }));
    const others = [1, 2, 3].map((item) => outcomeOf(batcher.submit(item)));
    await clock.advance(0);
    gate.call(0).fail(new Poisoned());
    await clock.advance(50);
    expect(late.code).toBe('DEADLINE_EXCEEDED');
    gate.call(1).fail(new Poisoned());
    await clock.advance(0);
    expect(gate.batches.slice(1)).toEqual([[0, 1], [1]]);
    gate.call(2).answer([10]);
    await clock.advance(0);
    gate.call(3).answer([20, 30]);
    await clock.advance(0);
    expect(others.map(({ value }) => value)).toEqual([10, 20, 30]);
    expectRest(batcher);
  });

  test('destroy() rejects all its items with CLOSED, and no further part is run', async () => {
    const { clock, gate, batcher } = gated();
    const outcomes = [0, 1, 2, 3].map((item) => outcomeOf(batcher.submit(item)));
    await clock.advance(0);
    gate.call(0).fail(new Poisoned());
    await clock.advance(0);
    batcher.destroy();
    gate.call(1).fail(new Poisoned());
    await clock.advance(0);
    expect(outcomes.map(({ code }) => code)).toEqual(['CLOSED', 'CLOSED', 'CLOSED', 'CLOSED']);
    expect(gate.calls).toHaveLength(2);
  });
});

test('without isolate, all callers fail with the same cause after one call', async () => {
  const clock = new VirtualClock();
  const gate = new Gate<number, number>();
  const batcher = new Batcher(gate.handler, { clock });
  const outcomes = [0, 1, 2].map((item) => outcomeOf(batcher.submit(item)));
  await clock.advance(0);
  const cause = new Poisoned();
  gate.call(0).fail(cause);
  await clock.advance(0);
  expect(outcomes.map(({ code }) => code)).toEqual(['HANDLER_FAILED', 'HANDLER_FAILED', 'HANDLER_FAILED']);
  for (const { error } of outcomes) expect((error as BatchwiseError).cause).toBe(cause);
  expect(gate.calls).toHaveLength(1);
});

test('a wrong number of results fails the batch without bisection', async () => {
  const { clock, gate, batcher } = gated();
  const outcomes = [0, 1, 2].map((item) => outcomeOf(batcher.submit(item)));
  await clock.advance(0);
  gate.call(0).answer([0, 10]);
  await clock.advance(0);
  expect(outcomes.map(({ code }) => code)).toEqual(['BAD_RESULT', 'BAD_RESULT', 'BAD_RESULT']);
  expect(gate.calls).toHaveLength(1);
});
