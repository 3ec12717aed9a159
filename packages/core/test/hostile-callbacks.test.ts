/** User callbacks that throw, submit or change limits while the batcher is in the middle of an operation. */
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import {
  type BatchContext,
  Batcher,
  type BatcherStats,
  greedy,
  type QueueView,
  VirtualClock,
} from 'batchwise';
import { describe, expect, test } from 'vitest';
import { expectRest } from './support/books.js';
import { GatedBackend, lost, placed } from './support/gated-backend.js';
import { outcomeOf } from './support/outcome.js';
import { RecordingSink } from './support/recording-sink.js';
import { uncaughtErrorsDuring } from './support/uncaught.js';

const fatesOf = (sinks: readonly RecordingSink<unknown>[]) => sinks.map(({ fate }) => fate);

// Root cause: the listener was called from within the loop over expired or cancelled items.
describe('an onGone listener that throws does not stop further notifications', () => {
  const handler = (_: string[], context: BatchContext) => {
    context.onGone(() => {
      throw new Error('a bug of the listener');
    });
    return new Promise<string[]>(() => {});
  };

  test('when several items expire', async () => {
    const clock = new VirtualClock();
    const batcher = new Batcher(handler, { clock, policy: greedy() });
    const sinks = ['a', 'b', 'c'].map(() => new RecordingSink<string>());
    for (const sink of sinks) batcher.enqueue('item', sink, { timeoutMs: 10 });
    batcher.enqueue('other', new RecordingSink<string>());
    const errors = await uncaughtErrorsDuring(() => clock.advance(20));
    expect(fatesOf(sinks)).toEqual(Array(3).fill('DEADLINE_EXCEEDED'));
    expect(errors).toHaveLength(3);
    batcher.destroy();
  });

  test('when several items are cancelled together', async () => {
    const clock = new VirtualClock();
    const batcher = new Batcher(handler, { clock, policy: greedy() });
    const controller = new AbortController();
    const { signal } = controller;
    const calls = ['a', 'b', 'c'].map((item) => batcher.submit(item, { signal }));
    batcher.submit('other').catch(() => {});
    await clock.advance(1);
    const errors = await uncaughtErrorsDuring(async () => {
      controller.abort();
      for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'CANCELLED' });
    });
    expect(errors).toHaveLength(3);
    batcher.destroy();
  });

  test('onGone() rejects an argument that is not a function', async () => {
    const batcher = new Batcher((_items: string[], context: BatchContext): string[] => {
      context.onGone('nobody' as never);
      return [];
    });
    await expect(batcher.submit('item')).rejects.toThrow(
      'context.onGone(listener): expected a function, got the string "nobody".',
    );
  });
});

// Root cause: the options of all calls were read into one object, which the getters of one could have overwritten.
test('an option getter that submits another item does not mix up the two calls', async () => {
  const clock = new VirtualClock();
  const hanging = new Batcher(() => new Promise<string[]>(() => {}), { clock, policy: greedy() });
  const other = new Batcher((items: string[]) => items, { clock });
  const sink = new RecordingSink<string>();
  hanging.enqueue('outer', sink, {
    timeoutMs: 100,
    get priority() {
      other.enqueue('inner', new RecordingSink<string>(), { timeoutMs: 5, tenant: 'another' });
      return 1;
    },
  });
  await clock.advance(50);
  expect(sink.fate).toBe('pending');
  await clock.advance(60);
  expect(sink.fate).toBe('DEADLINE_EXCEEDED');
});

// Root cause: after the timeout of a part, the next part is started by a timer that was set in the context of a caller.
test('no part of a batch runs in the async context of a caller', async () => {
  const storage = new AsyncLocalStorage<string>();
  const seen: (string | undefined)[] = [];
  const handler = async (items: string[]): Promise<string[]> => {
    seen.push(storage.getStore());
    if (items.length > 1) throw new Error('not together');
    return items[0] === 'hangs' ? new Promise(() => {}) : items;
  };
  // Its callbacks run in the async context in which they were set, as those of timers do.
  class Remembering extends VirtualClock {
    override setTimer(callback: () => void, delayMs: number): unknown {
      return super.setTimer(AsyncResource.bind(callback), delayMs);
    }
    override defer(callback: () => void): void {
      super.defer(AsyncResource.bind(callback));
    }
  }
  const clock = new Remembering();
  const batcher = new Batcher(handler, { clock, isolate: true, handlerTimeoutMs: 5, policy: greedy() });
  const calls = storage.run('a request', () =>
    Promise.allSettled([batcher.submit('hangs'), batcher.submit('answers')]),
  );
  await clock.advance(100);
  await calls;
  expect(seen).toEqual([undefined, undefined, undefined]);
});

// Root cause: items that a policy has read were not in the queue until its decision.
test('stats() inside decide() include the items that the policy has read', async () => {
  const clock = new VirtualClock();
  const seen: BatcherStats[] = [];
  const policy = {
    name: 'reading',
    decide(view: QueueView) {
      expect(view.costAt(1)).toBe(1);
      seen.push(batcher.stats());
      expect(view.costAt(1)).toBe(1);
      return { action: 'dispatch', count: view.length, reason: 'idle' } as const;
    },
  };
  const batcher: Batcher<number, number> = new Batcher((items: number[]) => items, { clock, policy });
  const calls = [batcher.submit(1), batcher.submit(2)];
  await clock.advance(5);
  expect(await Promise.all(calls)).toEqual([1, 2]);
  expect(seen).toMatchObject([{ queued: 2, queuedCost: 2, oldestWaitMs: 0, policyErrors: 0 }]);
});

// Root cause: after addEventListener, the batcher was not checked again for being open.
test.each(['destroy', 'close'] as const)(
  'a non-native signal that calls %s in addEventListener leaves no call pending',
  async (end) => {
    const clock = new VirtualClock();
    const batcher = new Batcher((items: number[]) => items, { clock });
    const signal = {
      aborted: false,
      reason: undefined,
      addEventListener: () => void batcher[end](),
      removeEventListener: () => {},
    } as unknown as AbortSignal;
    const call = batcher.submit(1, { signal });
    call.catch(() => {});
    await clock.advance(10);
    await expect(call).rejects.toMatchObject({ code: 'CLOSED' });
    expect(batcher.stats()).toMatchObject({ queued: 0, state: 'closed' });
  },
);

// Root cause: the length of the array was read before the calls of costOf and groupOf.
test('an array that is changed by costOf or groupOf is processed as it was given', async () => {
  const items = [1, 2, 3];
  const costOf = () => {
    if (items.length > 2) items.pop();
    return 1;
  };
  await using batcher = new Batcher((batch: number[]) => batch, { costOf });
  expect(await batcher.submitMany(items)).toEqual([1, 2, 3]);
});

// Root cause: the settings were read before the calls of the functions that changed them.
test('a limit that is changed by costOf or groupOf applies to that item', async () => {
  const clock = new VirtualClock();
  const costOf = (item: string): number => {
    if (item === 'limits') batcher.configure({ maxQueueSize: 1 });
    return 1;
  };
  const batcher = new Batcher(() => new Promise<string[]>(() => {}), { clock, policy: greedy(), costOf });
  const sinks: RecordingSink<string>[] = [];
  for (const item of ['runs', 'waits', 'limits']) {
    const sink = new RecordingSink<string>();
    sinks.push(sink);
    batcher.enqueue(item, sink);
    await clock.advance(1);
  }
  expect(fatesOf(sinks)).toEqual(['pending', 'pending', 'QUEUE_FULL']);
  batcher.destroy();
});

// Root cause: a function in place of a sink was used as the resolve function of a promise.
test('a class with static methods may be a sink', async () => {
  const settled: unknown[] = [];
  class StaticSink {
    static resolve(result: number): void {
      settled.push(result);
    }
    static reject(error: Error): void {
      settled.push(error);
    }
    readonly isMade = true;
  }
  await using batcher = new Batcher((items: number[]) =>
    items.map((item) => (item === 2 ? new Error('two') : item)),
  );
  batcher.enqueue(1, StaticSink);
  batcher.enqueue(2, StaticSink);
  expect(await batcher.submit(3)).toBe(3);
  expect(settled).toEqual([1, new Error('two')]);
});

// Root cause: listeners of a backend set and `slotOrder` were called in the middle of the end of a batch.
describe('a backend set whose listener throws goes on', () => {
  const one = { maxBatchSize: 1, concurrency: 1, policy: greedy() };

  test.each(['onEjected', 'onChange', 'slotOrder'])('%s', async (name) => {
    const thrown = new Error(`${name} is broken`);
    const isBroken = (listener: string) => {
      if (listener === name) throw thrown;
    };
    const [a, b] = [new GatedBackend('a'), new GatedBackend('b')];
    const set = { maxFailures: 1, onEjected: () => isBroken('onEjected') };
    const slotOrder = () => isBroken('slotOrder') ?? 0;
    const { clock, batcher } = placed([a, b], { ...one, set, slotOrder });
    // Only batchers that share a set are asked for their order.
    const other = new Batcher<number, number>({ backends: batcher.backends, clock, ...one });
    batcher.backends.onChange(() => isBroken('onChange'));
    const errors = await uncaughtErrorsDuring(async () => {
      const outcomes = [1, 2, 3].map((item) => outcomeOf(batcher.submit(item)));
      other.submit(4);
      await clock.advance(1);
      a.fail(lost('a'));
      for (let i = 0; i < 3; i++) {
        await clock.advance(1);
        b.answer();
      }
      const closed = outcomeOf(batcher.close());
      await clock.advance(1);
      expect(outcomes.map(({ code, value }) => code ?? value)).toEqual(['UNAVAILABLE', 2, 3]);
      expect(closed.state).toBe('resolved');
    });
    expectRest(batcher);
    expect(errors.length).toBeGreaterThan(0);
    expect(new Set(errors)).toEqual(new Set([thrown]));
    other.destroy();
  });
});
