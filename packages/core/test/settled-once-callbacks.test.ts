/** Callbacks that call the batcher in the middle of an operation, and results that cannot be read. */
import { Batcher, type Handler, type Policy, type Ticket, VirtualClock } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { expectBooksToBalance, expectRest } from './support/books.js';
import { gated } from './support/gate.js';
import { outcomeOf } from './support/outcome.js';
import { RecordingSink } from './support/recording-sink.js';

describe('a sink that calls the batcher', () => {
  // Root cause: destroy() looped over the queue while sinks removed entries from it.
  test('by cancelling other items on CLOSED leaves no item unsettled', async () => {
    const { clock, batcher } = gated({ maxBatchSize: 1 });
    const sinks: RecordingSink<number>[] = [];
    const tickets: Ticket[] = [];
    batcher.submit(0).catch(() => {}); // keeps the slot
    await clock.advance(0);
    for (let item = 1; item <= 4; item++) {
      const sink = new RecordingSink<number>(() => tickets[1]?.cancel());
      sinks.push(sink);
      tickets.push(batcher.enqueue(item, sink));
    }
    batcher.destroy();
    expect(sinks.map(({ settled }) => settled)).toEqual([1, 1, 1, 1]);
    expect(sinks.map(({ fate }) => fate)).toEqual(['CLOSED', 'CANCELLED', 'CLOSED', 'CLOSED']);
    expectRest(batcher);
    expect(clock.pendingTimers).toBe(0);
  });

  test('destroy() settles a request of several items and the items behind it', async () => {
    const { clock, batcher } = gated({ maxBatchSize: 1 });
    const outcomes = [outcomeOf(batcher.submitMany([1, 2, 3])), outcomeOf(batcher.submit(4))];
    await clock.advance(0);
    batcher.destroy();
    await clock.advance(0);
    expect(outcomes.map(({ code }) => code)).toEqual(['CLOSED', 'CLOSED']);
    expectRest(batcher);
  });

  // Root cause: as with destroy(). The remaining items fit in no batch, and the policy was called without end.
  test('a request of several items and the items behind it are rejected if they no longer fit in a batch', async () => {
    const { clock, batcher } = gated({ maxBatchSize: 10, costOf: (item) => item });
    batcher.submit(10).catch(() => {}); // keeps the slot
    await clock.advance(0);
    const outcomes = [outcomeOf(batcher.submitMany([6, 7, 8])), outcomeOf(batcher.submit(9))];
    batcher.configure({ maxBatchSize: 5 });
    await clock.advance(0);
    expect(outcomes.map(({ code }) => code)).toEqual(['INVALID_ITEM', 'INVALID_ITEM']);
    expect(batcher.stats()).toMatchObject({ queued: 0, queuedCost: 0 });
    expectBooksToBalance(batcher);
    batcher.destroy();
  });

  test('by cancelling or destroying in its callback has every item settled once', async () => {
    for (const act of ['cancel', 'destroy'] as const) {
      const { clock, gate, batcher } = gated({ maxBatchSize: 3 });
      const tickets: Ticket[] = [];
      const react = () => (act === 'destroy' ? batcher.destroy() : tickets[2]?.cancel());
      const sinks = [1, 2, 3, 4].map((item) => new RecordingSink<number>(item === 1 ? react : undefined));
      for (const [index, sink] of sinks.entries()) tickets.push(batcher.enqueue(index, sink));
      await clock.advance(0);
      gate.call(0).answer([1, 2, 3]);
      await clock.advance(0);
      const fates =
        act === 'destroy' ? ['ok', 'CLOSED', 'CLOSED', 'CLOSED'] : ['ok', 'ok', 'CANCELLED', 'pending'];
      expect(sinks.map(({ fate }) => fate)).toEqual(fates);
      expectBooksToBalance(batcher);
      batcher.destroy();
      expect(sinks.map(({ settled }) => settled)).toEqual([1, 1, 1, 1]);
      expectRest(batcher);
    }
  });

  test('by submitting in its callback is served as any other', async () => {
    const clock = new VirtualClock();
    const batcher = new Batcher<number, number>((items) => items, { clock });
    const sinks: RecordingSink<number>[] = [];
    const submit = (item: number): void => {
      const sink = new RecordingSink<number>(() => item < 100 && submit(item + 1));
      sinks.push(sink);
      batcher.enqueue(item, sink);
    };
    submit(1);
    await clock.advance(0);
    expect(sinks.map(({ results }) => results)).toEqual(Array.from({ length: 100 }, (_, i) => [i + 1]));
    expectRest(batcher);
  });
});

describe("a listener of the batch's signal that calls the batcher", () => {
  // Root cause: the signal fired when the caller no longer counted as running, but was not yet settled.
  test.each(['cancel', 'destroy', 'stats'] as const)('by %s finds consistent state', async (act) => {
    const { clock, gate, batcher } = gated();
    const sink = new RecordingSink<number>();
    const ticket = batcher.enqueue(1, sink);
    await clock.advance(0);
    let seen = 0;
    gate.call(0).context.signal.addEventListener('abort', () => {
      if (act === 'cancel') ticket.cancel();
      if (act === 'destroy') batcher.destroy();
      const { cancelled, running, submitted } = batcher.stats();
      seen = cancelled + running - submitted;
    });
    ticket.cancel();
    expect(seen).toBe(0);
    expect([sink.settled, sink.fate]).toEqual([1, 'CANCELLED']);
    expect(batcher.stats()).toMatchObject({ submitted: 1, cancelled: 1, failed: 0, running: 0 });
    batcher.destroy();
    expectRest(batcher);
  });

  test('by destroying after a handler time-out has every item settled once', async () => {
    const { clock, gate, batcher } = gated({ handlerTimeoutMs: 10, maxBatchSize: 2 });
    const outcomes = [1, 2, 3].map((item) => outcomeOf(batcher.submit(item)));
    await clock.advance(0);
    gate.call(0).context.signal.addEventListener('abort', () => batcher.destroy());
    await clock.advance(10);
    expect(outcomes.map(({ settled }) => settled)).toEqual([1, 1, 1]);
    expectRest(batcher);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('a handler that calls the batcher before it returns', () => {
  test.each(['destroy', 'close'] as const)('by %s has every item settled once', async (act) => {
    const clock = new VirtualClock();
    const batcher: Batcher<number, number> = new Batcher<number, number>(
      (items) => {
        if (act === 'destroy') batcher.destroy();
        else void batcher.close();
        return items;
      },
      { clock, maxBatchSize: 2 },
    );
    const outcomes = [1, 2, 3].map((item) => outcomeOf(batcher.submit(item)));
    await clock.advance(0);
    const code = act === 'destroy' ? 'CLOSED' : undefined;
    expect(outcomes.map((outcome) => outcome.code)).toEqual([code, code, code]);
    expect(outcomes.map(({ settled }) => settled)).toEqual([1, 1, 1]);
    expectRest(batcher);
    expect(batcher.stats().state).toBe('closed');
  });

  // Root cause: a submit to a full queue dispatches a batch first; the effects of that batch were not checked again.
  test.each(['destroy', 'close', 'abort'] as const)(
    'by %s while a new item is being submitted',
    async (act) => {
      const clock = new VirtualClock();
      const controller = new AbortController();
      const batcher: Batcher<number, number> = new Batcher<number, number>(
        (items) => {
          if (act === 'destroy') batcher.destroy();
          else if (act === 'close') void batcher.close();
          else controller.abort();
          return items;
        },
        { clock, maxQueueSize: 1 },
      );
      const first = outcomeOf(batcher.submit(1));
      const newItem = outcomeOf(batcher.submit(2, { signal: controller.signal }));
      await clock.advance(0);
      expect([first.settled, newItem.settled]).toEqual([1, 1]);
      expect(newItem.code).toBe(act === 'abort' ? 'CANCELLED' : 'CLOSED');
      expectRest(batcher);
    },
  );

  test('by lowering maxBatchSize below the cost of a new item has it rejected', async () => {
    const clock = new VirtualClock();
    let decisions = 0;
    const policy: Policy = {
      name: 'greedy, with a limit',
      decide: (view) => {
        decisions += 1;
        if (decisions === 100) newItem.cancel('endless decisions');
        return { action: 'dispatch', count: view.length, reason: 'idle' };
      },
    };
    const batcher: Batcher<number, number> = new Batcher<number, number>(
      (items) => {
        batcher.configure({ maxBatchSize: 1 });
        return items;
      },
      { clock, policy, maxQueueSize: 1, maxBatchSize: 8, costOf: (item) => item },
    );
    batcher.enqueue(1, new RecordingSink<number>());
    const sink = new RecordingSink<number>();
    const newItem: Ticket = batcher.enqueue(5, sink);
    await clock.advance(0);
    expect([sink.settled, sink.fate]).toEqual([1, 'INVALID_ITEM']);
    expectRest(batcher);
  });

  test('by submitting to its own batcher does not block', async () => {
    const clock = new VirtualClock();
    const inner: ReturnType<typeof outcomeOf<number>>[] = [];
    const batcher: Batcher<number, number> = new Batcher<number, number>(
      (items) => {
        if (items[0] === 1) inner.push(outcomeOf(batcher.submit(2)));
        return items;
      },
      { clock },
    );
    const outer = outcomeOf(batcher.submit(1));
    await clock.advance(0);
    expect([outer.value, inner[0]?.value]).toEqual([1, 2]);
    expectRest(batcher);
  });
});

describe('a result that cannot be read', () => {
  const revoked = (): object => {
    const { proxy, revoke } = Proxy.revocable([], {});
    revoke();
    return proxy;
  };
  const unreadable = (results: unknown[], index: number): unknown[] =>
    Object.defineProperty(results, index, {
      get: () => {
        throw new Error('no such row');
      },
    });
  const withoutMessage = Object.defineProperty(new Error(), 'message', {
    get: () => {
      throw new Error('no message either');
    },
  });
  const handlers: [string, () => unknown][] = [
    ['a revoked proxy', revoked],
    ['an array with a result that throws when read', () => unreadable([1, 2, 3], 1)],
    ['an array that is too short and throws when read', () => unreadable([1, 2], 1)],
    ['an array with a revoked proxy as a result', () => [1, revoked(), 3]],
  ];
  const thrown: [string, unknown][] = [
    ['an error whose message throws', withoutMessage],
    ['an error whose message is a symbol', Object.assign(new Error(), { message: Symbol('why') })],
    ['an error whose message has no text', Object.assign(new Error(), { message: Object.create(null) })],
    ['a revoked proxy', revoked()],
  ];

  async function expectService(handler: Handler<number, unknown>): Promise<void> {
    const clock = new VirtualClock();
    let calls = 0;
    const batcher = new Batcher<number, unknown>(
      (items, context) => {
        calls += 1;
        return calls === 1 ? handler(items, context) : items;
      },
      { clock },
    );
    const outcomes = [1, 2, 3].map((item) => outcomeOf(batcher.submit(item)));
    await clock.advance(0);
    expect(outcomes.map(({ settled }) => settled)).toEqual([1, 1, 1]);
    const next = outcomeOf(batcher.submit(4));
    await clock.advance(0);
    expect(next.value).toBe(4);
    expectRest(batcher);
  }

  test.each(handlers)('%s: every item is settled, and the slot is free', async (_, answer) => {
    await expectService(() => answer() as never);
    await expectService(async () => answer() as never);
  });

  test.each(thrown)('%s, thrown: every item is settled, and the slot is free', async (_, error) => {
    await expectService(() => {
      throw error;
    });
    await expectService(() => Promise.reject(error));
  });
});
