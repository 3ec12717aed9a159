import type { BatchwiseError } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { expectBooksToBalance, expectRest } from './support/books.js';
import { gated } from './support/gate.js';
import { outcomeOf } from './support/outcome.js';
import { RecordingSink } from './support/recording-sink.js';
import { uncaughtErrorsDuring } from './support/uncaught.js';

describe('cancelled in the queue', () => {
  test('an item is rejected at once, frees its place, and never reaches the handler', async () => {
    const { clock, gate, batcher } = gated({ maxQueueSize: 2 });
    const running = outcomeOf(batcher.submit(1));
    await clock.advance(0);
    const controller = new AbortController();
    const cancelled = outcomeOf(batcher.submit(2, { signal: controller.signal }));
    const neighbour = outcomeOf(batcher.submit(3));
    const rejected = outcomeOf(batcher.submit(4));
    controller.abort();
    expect(batcher.stats()).toMatchObject({ queued: 1, cancelled: 1, queuedCost: 1 });
    const inItsPlace = outcomeOf(batcher.submit(5));
    await clock.advance(0);
    expect([cancelled.code, rejected.code]).toEqual(['CANCELLED', 'QUEUE_FULL']);
    gate.call(0).answer([10]);
    await clock.advance(0);
    expect(gate.batches).toEqual([[1], [3, 5]]);
    gate.call(1).answer([30, 50]);
    await clock.advance(0);
    expect([running.value, neighbour.value, inItsPlace.value]).toEqual([10, 30, 50]);
    expectRest(batcher);
  });

  test('in the turn of its submit, an item is not executed', async () => {
    const { clock, gate, batcher } = gated();
    const sink = new RecordingSink<number>();
    batcher.enqueue(1, sink).cancel();
    expect(sink.fate).toBe('CANCELLED');
    await clock.advance(0);
    expect(gate.batches).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('items can be removed from any position in any order, and the rest stay in order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.nat(11), { maxLength: 12 }), async (cancelledItems) => {
        const { clock, gate, batcher } = gated({ maxBatchSize: 100 });
        batcher.submit(-1).catch(() => {});
        await clock.advance(0);
        const sinks = Array.from({ length: 12 }, () => new RecordingSink<number>());
        const tickets = sinks.map((sink, item) => batcher.enqueue(item, sink));
        for (const cancelledItem of cancelledItems) {
          tickets[cancelledItem]?.cancel();
          expectBooksToBalance(batcher);
        }
        gate.call(0).answer([0]);
        await clock.advance(0);
        const remaining = sinks.flatMap((_, item) => (cancelledItems.includes(item) ? [] : [item]));
        expect(gate.batches.slice(1)).toEqual(remaining.length > 0 ? [remaining] : []);
        for (const [item, { fate }] of sinks.entries()) {
          expect(fate).toBe(cancelledItems.includes(item) ? 'CANCELLED' : 'pending');
        }
        batcher.destroy();
        expectRest(batcher);
      }),
    );
  });
});

describe('cancelled while its batch runs', () => {
  test('a call is rejected at once, and the other items of the batch get their own results', async () => {
    const { clock, gate, batcher } = gated();
    const controller = new AbortController();
    const first = outcomeOf(batcher.submit(1));
    const cancelled = outcomeOf(batcher.submit(2, { signal: controller.signal }));
    const third = outcomeOf(batcher.submit(3));
    await clock.advance(0);
    controller.abort();
    await clock.advance(0);
    expect([first.state, cancelled.code, third.state]).toEqual(['pending', 'CANCELLED', 'pending']);
    expect(gate.call(0).context.signal.aborted).toBe(false);
    gate.call(0).answer([10, 20, 30]);
    await clock.advance(0);
    expect([first.value, cancelled.settled, third.value]).toEqual([10, 1, 30]);
    expectRest(batcher);
  });

  test('the signal of the batch fires when the last caller has cancelled, not before', async () => {
    const { clock, gate, batcher } = gated();
    const leaving = new AbortController();
    const byTicket = batcher.enqueue(1, new RecordingSink<number>());
    const bySignal = outcomeOf(batcher.submit(2, { signal: leaving.signal }));
    const byDeadline = outcomeOf(batcher.submit(3, { timeoutMs: 50 }));
    await clock.advance(0);
    const { signal } = gate.call(0).context;
    byTicket.cancel();
    expect(signal.aborted).toBe(false);
    leaving.abort();
    await clock.advance(49);
    expect([bySignal.code, byDeadline.state, signal.aborted]).toEqual(['CANCELLED', 'pending', false]);
    await clock.advance(1);
    expect([byDeadline.code, signal.aborted]).toEqual(['DEADLINE_EXCEEDED', true]);
    expect((signal.reason as BatchwiseError).code).toBe('CANCELLED');
  });

  test('a signal that the handler reads later has already fired', async () => {
    const { clock, gate, batcher } = gated();
    const ticket = batcher.enqueue(1, new RecordingSink<number>());
    await clock.advance(0);
    ticket.cancel();
    expect(gate.call(0).context.signal.aborted).toBe(true);
  });

  test('a batch without callers keeps its slot until the handler returns', async () => {
    const { clock, gate, batcher } = gated();
    const ticket = batcher.enqueue(1, new RecordingSink<number>());
    await clock.advance(0);
    ticket.cancel();
    const next = outcomeOf(batcher.submit(2));
    await clock.advance(1000);
    expect(gate.batches).toEqual([[1]]);
    gate.call(0).fail(new Error('aborted'));
    await clock.advance(0);
    gate.call(1).answer([20]);
    await clock.advance(0);
    expect(next.value).toBe(20);
    expectRest(batcher);
  });
});

describe('a ticket', () => {
  test('cancels once, passes the reason on, and does nothing after it is settled', async () => {
    const { clock, gate, batcher } = gated();
    const [cancelled, answered] = [new RecordingSink<number>(), new RecordingSink<number>()];
    const tickets = [cancelled, answered].map((sink) => batcher.enqueue(1, sink));
    expect(tickets.map(({ settled }) => settled)).toEqual([false, false]);
    for (const reason of ['first', 'second']) tickets[0]?.cancel(reason);
    await clock.advance(0);
    gate.call(0).answer([10]);
    await clock.advance(0);
    for (const ticket of tickets) ticket.cancel('third');
    expect([cancelled.settled, cancelled.fate, answered.settled, answered.fate]).toEqual([
      1,
      'CANCELLED',
      1,
      'ok',
    ]);
    expect((cancelled.errors[0] as BatchwiseError).cause).toBe('first');
    expect(tickets.map(({ settled }) => settled)).toEqual([true, true]);
    expect(batcher.stats()).toMatchObject({ cancelled: 1, succeeded: 1 });
    expectRest(batcher);
  });
});

describe('an expired item', () => {
  test('does not affect other items, in the queue and in a running batch', async () => {
    const { clock, gate, batcher } = gated({ maxBatchSize: 2 });
    const outcomes = [1, 2, 3, 4].map((item) =>
      outcomeOf(batcher.submit(item, item % 2 === 0 ? { timeoutMs: 10 * item } : {})),
    );
    await clock.advance(20);
    expect(outcomes.map(({ code }) => code)).toEqual([undefined, 'DEADLINE_EXCEEDED', undefined, undefined]);
    await clock.advance(20);
    expect(outcomes[3]?.code).toBe('DEADLINE_EXCEEDED');
    gate.call(0).answer([10, 20]);
    await clock.advance(0);
    expect(gate.batches).toEqual([[1, 2], [3]]);
    gate.call(1).answer([30]);
    await clock.advance(0);
    expect(outcomes.map(({ value }) => value)).toEqual([10, undefined, 30, undefined]);
    expectRest(batcher);
  });
});

test('a sink that throws does not affect other items of its batch, and its error is uncaught', async () => {
  const { clock, gate, batcher } = gated({ maxBatchSize: 3 });
  const sinks = [1, 2, 3, 4, 5].map(
    (item) =>
      new RecordingSink<number>(() => {
        if (item === 1 || item === 4) throw new Error(`sink ${item}`);
      }),
  );
  const tickets = sinks.map((sink, item) => batcher.enqueue(item, sink));
  await clock.advance(0);
  const errors = await uncaughtErrorsDuring(async () => {
    gate.call(0).answer([10, 20, 30]);
    await clock.advance(0);
    tickets[3]?.cancel();
  });
  expect(sinks.map(({ fate }) => fate)).toEqual(['ok', 'ok', 'ok', 'CANCELLED', 'pending']);
  expect(errors.map((error) => (error as Error).message)).toEqual(['sink 1', 'sink 4']);
  batcher.destroy();
  expectRest(batcher);
});

test('destroy() settles all items: in slots, groups, tenants and priorities, with and without a deadline', async () => {
  const { clock, gate, batcher } = gated({ maxBatchSize: 2, concurrency: 3, groupOf: (item) => item % 4 });
  const outcomes = Array.from({ length: 60 }, (_, item) => {
    const tenant = `tenant ${item % 3}`;
    const deadline = item % 5 === 0 ? { timeoutMs: 100 + item } : {};
    return outcomeOf(batcher.submit(item, { tenant, priority: item % 2, ...deadline }));
  });
  await clock.advance(0);
  expect(batcher.stats()).toMatchObject({ batchesRunning: 3, running: 6, queued: 54 });
  batcher.destroy();
  await clock.advance(0);
  expect(outcomes.every(({ code, settled }) => code === 'CLOSED' && settled === 1)).toBe(true);
  expect(gate.calls.every(({ context }) => context.signal.aborted)).toBe(true);
  expect(gate.calls).toHaveLength(3);
  expect(clock.pendingTimers).toBe(0);
  expectRest(batcher);
});

test('close() during a batch drains the queue; an item cancelled meanwhile is not executed', async () => {
  const { clock, gate, batcher } = gated({ maxBatchSize: 1 });
  const sinks = [1, 2, 3].map(() => new RecordingSink<number>());
  const tickets = sinks.map((sink, index) => batcher.enqueue(index + 1, sink));
  await clock.advance(0);
  const closed = outcomeOf(batcher.close());
  tickets[1]?.cancel();
  await clock.advance(100);
  expect([closed.state, sinks[1]?.fate]).toEqual(['pending', 'CANCELLED']);
  gate.call(0).answer([10]);
  await clock.advance(0);
  expect(gate.batches).toEqual([[1], [3]]);
  tickets[2]?.cancel();
  await clock.advance(0);
  expect([closed.state, gate.call(1).context.signal.aborted]).toEqual(['pending', true]);
  gate.call(1).fail(new Error('aborted'));
  await clock.advance(0);
  expect(closed.state).toBe('resolved');
  expect(sinks.map(({ fate }) => fate)).toEqual(['ok', 'CANCELLED', 'CANCELLED']);
  expectRest(batcher);
});
