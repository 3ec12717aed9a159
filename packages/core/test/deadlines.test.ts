import { Batcher, greedy } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BlockedClock } from './support/blocked-clock.js';
import { expectRest } from './support/books.js';
import { Gate, gated } from './support/gate.js';
import { outcomeOf } from './support/outcome.js';
import { RecordingSink } from './support/recording-sink.js';

describe('a deadline', () => {
  test('that passes in the queue rejects the item at that time, and the item is never executed', async () => {
    const { clock, gate, batcher } = gated({ maxQueueSize: 1 });
    const running = outcomeOf(batcher.submit(1));
    await clock.advance(0);
    const waiting = outcomeOf(batcher.submit(2, { timeoutMs: 50 }));
    await clock.advance(49);
    expect(waiting.state).toBe('pending');
    await clock.advance(1);
    expect(waiting.code).toBe('DEADLINE_EXCEEDED');
    expect(batcher.stats()).toMatchObject({ expired: 1, queued: 0, running: 1, queuedCost: 0 });
    const inItsPlace = outcomeOf(batcher.submit(3));
    await clock.advance(10_000);
    gate.call(0).answer([10]);
    await clock.advance(0);
    expect(gate.batches).toEqual([[1], [3]]);
    gate.call(1).answer([30]);
    await clock.advance(0);
    expect([running.value, inItsPlace.value]).toEqual([10, 30]);
    expectRest(batcher);
  });

  test('that passes while its batch runs rejects the call at once, and the late result is ignored', async () => {
    const { clock, gate, batcher } = gated();
    const late = outcomeOf(batcher.submit(1, { timeoutMs: 50 }));
    const patient = outcomeOf(batcher.submit(2));
    await clock.advance(50);
    expect([late.code, patient.state]).toEqual(['DEADLINE_EXCEEDED', 'pending']);
    expect(gate.call(0).context.signal.aborted).toBe(false);
    gate.call(0).answer([10, 20]);
    await clock.advance(0);
    expect([late.settled, late.state, patient.value]).toEqual([1, 'rejected', 20]);
    expectRest(batcher);
  });

  test('that passes in a window rejects the item then, not at the end of the window', async () => {
    const { clock, gate, batcher } = gated({
      maxWaitMs: 100,
      policy: { name: 'waits', decide: () => ({ action: 'wait', until: Number.POSITIVE_INFINITY }) },
    });
    const hurried = outcomeOf(batcher.submit(1, { timeoutMs: 30 }));
    const patient = outcomeOf(batcher.submit(2));
    await clock.advance(30);
    expect(hurried.code).toBe('DEADLINE_EXCEEDED');
    await clock.advance(70);
    expect(gate.batches).toEqual([[2]]);
    gate.call(0).answer([20]);
    await clock.advance(0);
    expect(patient.value).toBe(20);
  });

  test('of each caller is independent of the order of arrival', async () => {
    const { clock, batcher } = gated({ maxBatchSize: 1 });
    batcher.submit(0).catch(() => {});
    await clock.advance(0);
    const timeoutsMs = [40, 10, 30, 10, 20];
    const outcomes = timeoutsMs.map((timeoutMs) => outcomeOf(batcher.submit(1, { timeoutMs })));
    for (let now = 0; now < 40; now += 10) {
      const expired = timeoutsMs.map((timeoutMs) => timeoutMs <= now);
      expect(outcomes.map(({ code }) => code === 'DEADLINE_EXCEEDED')).toEqual(expired);
      await clock.advance(10);
    }
    expect(outcomes.every(({ settled }) => settled === 1)).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });

  // Root cause: deadlines were checked by a timer, and a busy thread dispatches batches before timers fire.
  test('that passed while the thread was busy rejects the item, which is not executed', async () => {
    const clock = new BlockedClock();
    const executed: number[] = [];
    const handler = (items: number[]): number[] => {
      executed.push(...items);
      clock.block(100);
      return items;
    };
    const batcher = new Batcher(handler, { clock, maxBatchSize: 1 });
    const first = outcomeOf(batcher.submit(1));
    const expired = outcomeOf(batcher.submit(2, { timeoutMs: 50 }));
    const patient = outcomeOf(batcher.submit(3));
    await clock.advance(1000);
    expect(executed).toEqual([1, 3]);
    expect([first.value, expired.code, patient.value]).toEqual([1, 'DEADLINE_EXCEEDED', 3]);
  });

  test('that passed while the thread was busy rejects the item at the end of a batch, before the next dispatch', async () => {
    const clock = new BlockedClock();
    const gate = new Gate<number, number>();
    const batcher = new Batcher(gate.handler, { clock, maxBatchSize: 1 });
    batcher.submit(1).catch(() => {});
    const expired = outcomeOf(batcher.submit(2, { timeoutMs: 50 }));
    batcher.submit(3).catch(() => {});
    await clock.advance(0);
    clock.block(100);
    gate.call(0).answer([10]);
    await clock.advance(0);
    expect(gate.batches).toEqual([[1], [3]]);
    expect(expired.code).toBe('DEADLINE_EXCEEDED');
  });
});

describe('timeoutMs', () => {
  test('of 0 rejects the item before enqueue() returns', async () => {
    const { clock, gate, batcher } = gated();
    const sink = new RecordingSink<number>();
    const ticket = batcher.enqueue(1, sink, { timeoutMs: 0 });
    expect([sink.fate, sink.settled, ticket.settled]).toEqual(['DEADLINE_EXCEEDED', 1, true]);
    await clock.advance(0);
    expect(gate.calls).toEqual([]);
    expect(batcher.stats()).toMatchObject({ submitted: 1, expired: 1 });
  });

  test('of a call overrides that of the batcher: shorter, longer or none', async () => {
    const { clock, batcher } = gated({ timeoutMs: 100 });
    const timeoutsMs = [undefined, 50, 200, Number.POSITIVE_INFINITY];
    const outcomes = timeoutsMs.map((timeoutMs) => outcomeOf(batcher.submit(1, { timeoutMs })));
    outcomes.push(outcomeOf(batcher.submit(1)));
    const expired = () => outcomes.map(({ code }) => code === 'DEADLINE_EXCEEDED');
    await clock.advance(50);
    expect(expired()).toEqual([false, true, false, false, false]);
    await clock.advance(50);
    expect(expired()).toEqual([true, true, false, false, true]);
    await clock.advance(100);
    expect(expired()).toEqual([true, true, true, false, true]);
    await clock.advance(1e9);
    expect(outcomes[3]?.state).toBe('pending');
    batcher.destroy();
  });

  test('counts from the call, not from the first item of its batch', async () => {
    const { clock, batcher } = gated({ timeoutMs: 100 });
    const outcomes = [outcomeOf(batcher.submit(1))];
    await clock.advance(60);
    outcomes.push(outcomeOf(batcher.submit(2)));
    await clock.advance(99);
    expect(outcomes.map(({ code }) => code)).toEqual(['DEADLINE_EXCEEDED', undefined]);
    await clock.advance(1);
    expect(outcomes[1]?.code).toBe('DEADLINE_EXCEEDED');
  });

  test('of a request of several items applies to each of them, and the request is rejected once', async () => {
    const { clock, gate, batcher } = gated({ maxBatchSize: 2 });
    const request = outcomeOf(batcher.submitMany([1, 2, 3], { timeoutMs: 50 }));
    await clock.advance(10);
    gate.call(0).answer([10, 20]);
    await clock.advance(40);
    expect([request.code, request.settled]).toEqual(['DEADLINE_EXCEEDED', 1]);
    expect(gate.call(1).context.signal.aborted).toBe(true);
  });
});

test('of any number of calls, each expires at its own deadline unless it is answered or cancelled before', async () => {
  const calls = fc.array(
    fc.record({
      timeoutMs: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(10, 10, 0.5, 12.25, 1000)),
      afterMs: fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 7),
      cancelAtMs: fc.option(fc.integer({ min: 0, max: 30 }), { freq: 5 }),
    }),
    { maxLength: 200 },
  );
  await fc.assert(
    fc.asyncProperty(calls, fc.integer({ min: 20, max: 60 }), async (script, answeredAt) => {
      const { clock, gate, batcher } = gated({ maxBatchSize: 50, admission: false, policy: greedy() });
      const settledAt: number[] = [];
      const expected: number[] = [];
      const fates: string[] = [];
      const sinks = script.map((_, i) => {
        const sink: RecordingSink<number> = new RecordingSink(() => {
          settledAt[i] = clock.now();
          fates[i] = sink.fate;
        });
        return sink;
      });
      for (const [i, { timeoutMs, afterMs, cancelAtMs }] of script.entries()) {
        const ticket = batcher.enqueue(i, sinks[i] as RecordingSink<number>, { timeoutMs });
        const deadline = clock.now() + timeoutMs;
        expected.push(deadline);
        if (cancelAtMs !== null) {
          clock.setTimer(() => ticket.cancel(), cancelAtMs);
          expected[i] = Math.min(deadline, clock.now() + cancelAtMs);
        }
        if (afterMs > 0) await clock.advance(afterMs);
      }
      const arrivedUntil = clock.now();
      await clock.advance(answeredAt);
      for (let call = 0; call < gate.calls.length; call++) {
        gate.call(call).answer(gate.call(call).items);
        await clock.advance(0);
      }
      await clock.advance(2000);
      for (const [i, at] of expected.entries()) {
        if (fates[i] === 'ok') expect(settledAt[i]).toBe(arrivedUntil + answeredAt);
        else expect([fates[i], settledAt[i]]).toEqual([fates[i], at]);
      }
      expect(sinks.every(({ settled }) => settled === 1)).toBe(true);
      expectRest(batcher);
    }),
    { numRuns: 100 },
  );
});
