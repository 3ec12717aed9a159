/** Guarantee 8: one timer per batcher, none per request, none when idle, no polling. */
import { getEventListeners } from 'node:events';
import { Batcher, type BatcherOptions, type VirtualClock, window } from 'batchwise';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CountingClock } from './support/counting-clock.js';
import { Gate } from './support/gate.js';
import { outcomeOf } from './support/outcome.js';
import { RecordingSink } from './support/recording-sink.js';

function gated(options: BatcherOptions<number> = {}) {
  const clock = new CountingClock();
  const gate = new Gate<number, number>();
  const batcher = new Batcher(gate.handler, { clock, maxBatchSize: 10_000, ...options });
  return { clock, gate, batcher };
}

function expectIdle(clock: VirtualClock): void {
  expect([clock.pendingTimers, clock.pendingTurns]).toEqual([0, 0]);
}

const numbers = (length: number) => Array.from({ length }, (_, i) => i);

test('a new batcher has no timer and no deferred callback', () => {
  const { clock } = gated({ policy: window({ maxWaitMs: 10 }), timeoutMs: 50, handlerTimeoutMs: 50 });
  expectIdle(clock);
});

test('a thousand calls with a deadline need one timer, and none after they are settled', async () => {
  const { clock, gate, batcher } = gated();
  const answers = numbers(1000).map((i) => batcher.submit(i, { timeoutMs: 5000 - i }));
  await clock.advance(0);
  expect(clock.mostTimersAtOnce).toBe(1);
  gate.call(0).answer(gate.call(0).items);
  await clock.advance(0);
  await Promise.all(answers);
  expectIdle(clock);
});

test('a thousand deadlines in any order need one timer, and each expires on time', async () => {
  const { clock, batcher } = gated({ policy: window({ maxWaitMs: 100_000 }) });
  const expiredAt: number[] = [];
  const deadlines = numbers(1000).map((i) => 1 + ((i * 7919) % 1000));
  for (const [i, timeoutMs] of deadlines.entries()) {
    const sink = new RecordingSink<number>(() => expiredAt.push(clock.now()));
    batcher.enqueue(i, sink, { timeoutMs });
    if (i % 100 === 99) await clock.settle();
  }
  await clock.advance(1000);
  expect(expiredAt).toEqual(deadlines.toSorted((a, b) => a - b));
  expect(clock.mostTimersAtOnce).toBe(1);
  expectIdle(clock);
});

test.each([
  ['cancelled while it waits', async ({ ticket }: Ended) => ticket.cancel()],
  ['expired while it waits', async ({ clock }: Ended) => clock.advance(50)],
  [
    'answered',
    async ({ clock, gate, batcher }: Ended) => {
      batcher.flush();
      await clock.advance(0);
      gate.call(0).answer([1]);
    },
  ],
  [
    'cancelled while it runs, and the handler has returned',
    async ({ clock, gate, batcher, ticket }: Ended) => {
      batcher.flush();
      await clock.advance(0);
      ticket.cancel();
      gate.call(0).answer([1]);
    },
  ],
  [
    'timed out in the handler',
    async ({ clock, batcher }: Ended) => {
      batcher.flush();
      await clock.advance(20);
    },
  ],
  [
    'closed',
    async ({ clock, gate, batcher }: Ended) => {
      void batcher.close({ timeoutMs: 1000 });
      await clock.advance(0);
      gate.call(0).answer([1]);
    },
  ],
  [
    'closed by time-out',
    async ({ clock, batcher }: Ended) => {
      void batcher.close({ timeoutMs: 5 });
      await clock.advance(5);
    },
  ],
  ['destroyed', async ({ batcher }: Ended) => batcher.destroy()],
  [
    'rejected by a smaller maxBatchSize',
    async ({ batcher }: Ended) => batcher.configure({ maxBatchSize: 1 }),
  ],
])('after the only item is %s, there is no timer and no deferred callback', async (_, end) => {
  const context = gated({ policy: window({ maxWaitMs: 100 }), handlerTimeoutMs: 20, costOf: () => 2 });
  const { clock, batcher } = context;
  const sink = new RecordingSink<number>();
  const ticket = batcher.enqueue(1, sink, { timeoutMs: 50 });
  await clock.advance(1);
  expect(clock.pendingTimers).toBe(1);
  await end({ ...context, ticket });
  await clock.settle();
  expect(sink.settled).toBe(1);
  expectIdle(clock);
});

type Ended = ReturnType<typeof gated> & { readonly ticket: { cancel(): void } };

test('a signal has one listener for all its calls, and none after they are settled', async () => {
  const { clock, gate, batcher } = gated();
  const { signal } = new AbortController();
  const listeners = () => getEventListeners(signal, 'abort').length;
  const tickets = numbers(3).map((i) =>
    batcher.enqueue(i, new RecordingSink<number>(), { signal } as object),
  );
  const answers = numbers(997).map((i) => batcher.submit(i, { signal }));
  expect(listeners()).toBe(1);
  await clock.advance(0);
  tickets[1]?.cancel();
  expect(listeners()).toBe(1);
  gate.call(0).answer(gate.call(0).items);
  await Promise.all(answers);
  expect(listeners()).toBe(0);
  void batcher.submit(1, { signal });
  expect(listeners()).toBe(1);
});

test('items in a window are not polled: one deferred callback and one timer', async () => {
  const { clock, gate, batcher } = gated({ policy: window({ maxWaitMs: 60_000 }) });
  for (const i of numbers(500)) void batcher.submit(i);
  await clock.advance(0);
  const { callbacks, timersSet } = clock;
  await clock.advance(59_999);
  expect(clock.callbacks).toBe(callbacks);
  expect(clock.timersSet).toBe(timersSet);
  await clock.advance(1);
  expect(gate.batches).toHaveLength(1);
  expect(clock.callbacks).toBeLessThanOrEqual(callbacks + 1);
});

test('items that wait for a slot are not polled', async () => {
  const { clock, gate, batcher } = gated({ policy: window({ maxWaitMs: 5 }), maxWaitMs: 5 });
  void batcher.submit(0);
  await clock.advance(5);
  for (const i of numbers(100)) void batcher.submit(i);
  await clock.advance(0);
  const { callbacks } = clock;
  await clock.advance(1_000_000);
  expect(clock.callbacks).toBeLessThanOrEqual(callbacks + 1);
  expect(clock.pendingTimers).toBe(0);
  gate.call(0).answer([0]);
  await clock.advance(0);
  expect(gate.batches).toHaveLength(2);
});

test('a policy that waits without a time sets no timer', async () => {
  const policy = { name: 'holding', decide: () => ({ action: 'wait', until: Infinity }) as const };
  const { clock, batcher } = gated({ policy });
  void batcher.submit(1);
  await clock.advance(1000);
  expectIdle(clock);
});

test('the number of deferred callbacks grows with the turns, not with the items', async () => {
  const { clock, gate, batcher } = gated();
  for (let turn = 0; turn < 10; turn++) {
    const outcomes = numbers(1000).map((i) => outcomeOf(batcher.submit(i, { timeoutMs: 100 + i })));
    await clock.advance(1);
    gate.call(turn).answer(gate.call(turn).items);
    await clock.advance(1);
    expect(outcomes.every(({ state }) => state === 'resolved')).toBe(true);
  }
  expect(clock.callbacks).toBeLessThanOrEqual(20);
  expect(clock.timersSet).toBeLessThanOrEqual(10);
});

test('there is at most one timer, and no unnecessary callback', async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('submit' as const), timeoutMs: fc.constantFrom(undefined, 3, 40, 500) }),
    fc.record({ kind: fc.constant('cancel' as const), which: fc.nat() }),
    fc.record({ kind: fc.constant('advance' as const), ms: fc.nat(30) }),
    fc.constant({ kind: 'answer' as const }),
    fc.record({ kind: fc.constant('configure' as const), maxWaitMs: fc.constantFrom(0, 10, Infinity) }),
    fc.constant({ kind: 'flush' as const }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (script) => {
      const options = { policy: window({ maxWaitMs: 20 }), maxBatchSize: 3, handlerTimeoutMs: 60 };
      const { clock, gate, batcher } = gated(options);
      const tickets: { cancel(): void }[] = [];
      let answered = 0;
      for (const action of script) {
        if (action.kind === 'submit') {
          const { timeoutMs } = action;
          tickets.push(batcher.enqueue(1, new RecordingSink<number>(), { timeoutMs }));
        } else if (action.kind === 'cancel') tickets[action.which % (tickets.length || 1)]?.cancel();
        else if (action.kind === 'advance') await clock.advance(action.ms);
        else if (action.kind === 'answer') gate.calls[answered++]?.answer([1]);
        else if (action.kind === 'configure') batcher.configure({ maxWaitMs: action.maxWaitMs });
        else batcher.flush();
      }
      await clock.advance(1000);
      expect(clock.mostTimersAtOnce).toBeLessThanOrEqual(1);
      expectIdle(clock);
      const reasons = 3 * (script.length + gate.calls.length + 1);
      expect(clock.callbacks).toBeLessThanOrEqual(reasons);
    }),
    { numRuns: 200 },
  );
});

// Root cause: Infinity was accepted, and from then on no timer was ever due before the others.
test('a virtual clock advances by finite times only', async () => {
  const clock = new CountingClock();
  await expect(clock.advance(Infinity)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  expect(clock.now()).toBe(0);
});
