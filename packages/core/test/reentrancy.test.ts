/** The batcher is called by the handlers, sinks and functions that it is calling. */
import { Batcher, VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import { expectRest } from './support/books.js';
import { Gate } from './support/gate.js';
import { outcomeOf } from './support/outcome.js';
import { RecordingSink } from './support/recording-sink.js';

const echo = (items: string[]) => items;

test('submit inside a handler: the item is dispatched in a later batch', async () => {
  const clock = new VirtualClock();
  const inner: ReturnType<typeof outcomeOf>[] = [];
  const batcher: Batcher<number, number> = new Batcher(
    (items: number[]) => {
      for (const item of items) if (item < 3) inner.push(outcomeOf(batcher.submit(item + 1)));
      return items;
    },
    { clock },
  );
  const outer = outcomeOf(batcher.submit(0));
  await clock.advance(0);
  expect([outer, ...inner].map(({ value }) => value)).toEqual([0, 1, 2, 3]);
  expect(batcher.stats().batches).toBe(4);
  expectRest(batcher);
});

test('a handler that awaits an item of its own batcher is served by another slot', async () => {
  const clock = new VirtualClock();
  const batcher: Batcher<number, number> = new Batcher(
    async ([item = 0]: number[]) => [item === 0 ? item : await batcher.submit(item - 1)],
    { clock, concurrency: 3, maxBatchSize: 1 },
  );
  const outcome = outcomeOf(batcher.submit(2));
  await clock.advance(0);
  expect(outcome.value).toBe(0);
});

test('submit inside a sink: a chain of a thousand does not grow the stack', async () => {
  const clock = new VirtualClock();
  const batcher = new Batcher((items: number[]) => items, { clock, maxBatchSize: 1 });
  let last = -1;
  const next = (item: number) => {
    batcher.enqueue(item, {
      resolve: (result) => {
        last = result;
        if (item < 1000) next(item + 1);
      },
      reject: () => {},
    });
  };
  next(0);
  await clock.advance(0);
  expect(last).toBe(1000);
  expectRest(batcher);
});

test('a synchronous handler and its sinks let the event loop run', async () => {
  const clock = new VirtualClock();
  const batcher = new Batcher((items: number[]) => items, { clock });
  let served = 0;
  const again = () => {
    if (++served < 50) batcher.enqueue(served, new RecordingSink(again));
  };
  again();
  expect(served).toBe(1); // no handler has run before the end of the turn
  await clock.advance(0);
  expect(served).toBe(50);
});

test('cancel inside a sink: another item of the same batch is cancelled and not answered', async () => {
  const clock = new VirtualClock();
  const batcher = new Batcher(echo, { clock });
  const second = new RecordingSink<string>();
  batcher.enqueue('a', new RecordingSink(() => ticket.cancel()));
  const ticket = batcher.enqueue('b', second);
  await clock.advance(0);
  expect([second.fate, second.settled]).toEqual(['CANCELLED', 1]);
  expectRest(batcher);
});

test.each(['close', 'destroy'] as const)('%s inside a handler: all items are settled', async (end) => {
  const clock = new VirtualClock();
  const batcher: Batcher<number, number> = new Batcher(
    (items: number[]) => {
      void batcher[end]();
      return items;
    },
    { clock, maxBatchSize: 2 },
  );
  const outcomes = [1, 2, 3].map((item) => outcomeOf(batcher.submit(item)));
  await clock.advance(0);
  const fates = outcomes.map(({ value, code }) => value ?? code);
  expect(fates).toEqual(end === 'close' ? [1, 2, 3] : ['CLOSED', 'CLOSED', 'CLOSED']);
  expect(batcher.stats().state).toBe('closed');
  expectRest(batcher);
});

test.each(['close', 'destroy'] as const)('%s inside a sink: all items are settled once', async (end) => {
  const clock = new VirtualClock();
  const batcher = new Batcher(echo, { clock, maxBatchSize: 2 });
  const sinks = [1, 2, 3, 4].map((i) => {
    const sink = new RecordingSink<string>(i === 1 ? () => void batcher[end]() : undefined);
    batcher.enqueue(`${i}`, sink);
    return sink;
  });
  await clock.advance(0);
  expect(sinks.map(({ settled }) => settled)).toEqual([1, 1, 1, 1]);
  expect(sinks[3]?.fate).toBe(end === 'close' ? 'ok' : 'CLOSED');
  expect(batcher.stats().state).toBe('closed');
  expectRest(batcher);
});

test('configure inside a handler and inside a sink applies from the next batch on', async () => {
  const clock = new VirtualClock();
  const gate = new Gate<number, number>();
  const batcher: Batcher<number, number> = new Batcher(gate.handler, { clock, maxBatchSize: 2 });
  for (let i = 0; i < 8; i++) {
    batcher.enqueue(i, new RecordingSink(() => batcher.configure({ maxBatchSize: i + 3 })));
  }
  await clock.advance(0);
  gate.call(0).answer([0, 1]);
  await clock.advance(0);
  expect(gate.batches).toEqual([
    [0, 1],
    [2, 3, 4, 5],
  ]);
});

test.each(['close', 'destroy'] as const)(
  '%s inside costOf, groupOf or dedupeBy: the item is settled',
  async (end) => {
    for (const option of ['costOf', 'groupOf', 'dedupeBy'] as const) {
      const clock = new VirtualClock();
      const batcher: Batcher<number, number> = new Batcher((items: number[]) => items, {
        clock,
        [option]: () => {
          void batcher[end]();
          return 1;
        },
      });
      const outcome = outcomeOf(batcher.submit(1));
      await clock.advance(0);
      expect(outcome.settled, option).toBe(1);
      expectRest(batcher);
    }
  },
);

// Root cause: a full queue dispatches full batches during a submit, and their callbacks may destroy the batcher;
// the new item must not be queued in it.
test('destroy in a callback of a dispatch during submit: the new item is settled, too', async () => {
  const clock = new VirtualClock();
  const batcher: Batcher<string, string> = new Batcher((items: string[]) => items, {
    clock,
    maxBatchSize: 2,
    maxQueueSize: 2,
  });
  batcher.enqueue('a', new RecordingSink(() => batcher.destroy()));
  batcher.enqueue('b', new RecordingSink());
  const newItem = outcomeOf(batcher.submit('c'));
  await clock.advance(0);
  expect(newItem.code).toBe('CLOSED');
  expectRest(batcher);
});
