/** Misuse of user functions: one that throws or returns invalid values affects only its item or batch. */
import { Batcher, type BatcherOptions, BatchwiseError, VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import { expectRest } from './support/books.js';
import { outcomeOf } from './support/outcome.js';
import { RecordingSink } from './support/recording-sink.js';
import { uncaughtErrorsDuring } from './support/uncaught.js';

async function fatesOf(items: unknown[], options: BatcherOptions<unknown>) {
  const clock = new VirtualClock();
  const batcher = new Batcher((batch: unknown[]) => batch, { clock, ...options });
  const outcomes = items.map((item) => outcomeOf(batcher.submit(item)));
  await clock.advance(0);
  expectRest(batcher);
  return { outcomes, stats: batcher.stats() };
}

test.each([
  [0, '0'],
  [-1, '-1'],
  [NaN, 'NaN'],
  [Infinity, 'Infinity'],
  ['3', 'the string "3"'],
  [null, 'null'],
  [undefined, 'undefined'],
  [3n, '3n (a bigint)'],
  [Promise.resolve(1), 'an object (Promise)'],
])('costOf that returns %s: the item is rejected, other items are served', async (cost, came) => {
  const costOf = (item: unknown) => (item === 'bad' ? cost : 1) as number;
  const { outcomes, stats } = await fatesOf(['a', 'bad', 'b'], { costOf });
  expect(outcomes.map(({ code, value }) => code ?? value)).toEqual(['a', 'INVALID_ITEM', 'b']);
  expect(outcomes[1]?.error).toHaveProperty(
    'message',
    `costOf(item): expected a number above 0, got ${came}.`,
  );
  expect(stats.refusals).toEqual({ INVALID_ITEM: 1 });
});

test('an item whose cost exceeds maxBatchSize is rejected, and the message has both numbers', async () => {
  const { outcomes } = await fatesOf([3, 9], { name: 'rows', maxBatchSize: 8, costOf: Number });
  expect(outcomes.map(({ code, value }) => code ?? value)).toEqual([3, 'INVALID_ITEM']);
  expect(outcomes[1]?.error).toHaveProperty('message', "rows: the item's cost (9) exceeds maxBatchSize (8).");
});

test.each(['costOf', 'groupOf', 'dedupeBy'] as const)(
  '%s that throws: the item is rejected with the cause, other items are served',
  async (option) => {
    for (const [thrown, what] of [
      [new Error('no shape'), 'no shape'],
      ['a string', 'the string "a string"'],
      [null, 'null'],
      [undefined, 'undefined'],
    ]) {
      const question = (item: unknown) => {
        if (item === 'bad') throw thrown;
        return item === 'a' ? 1 : 2;
      };
      const { outcomes } = await fatesOf(['a', 'bad', 'b'], { [option]: question });
      expect(outcomes.map(({ code, value }) => code ?? value)).toEqual(['a', 'INVALID_ITEM', 'b']);
      const error = outcomes[1]?.error as Error | undefined;
      expect([error?.message, error?.cause]).toEqual([`${option}(item) threw: ${what}`, thrown]);
    }
  },
);

test('a request with an invalid item fails, and none of its items is executed', async () => {
  const clock = new VirtualClock();
  const executed: unknown[] = [];
  const batcher = new Batcher(
    (batch: number[]) => {
      executed.push(...batch);
      return batch;
    },
    { clock, maxBatchSize: 2, costOf: (item) => item },
  );
  const request = outcomeOf(batcher.submitMany([1, 1, 1, NaN, 1]));
  const neighbour = outcomeOf(batcher.submit(2));
  await clock.advance(0);
  expect([request.code, neighbour.value]).toEqual(['INVALID_ITEM', 2]);
  expect(executed).toEqual([2]);
  expectRest(batcher);
});

test.each(['costOf', 'groupOf', 'dedupeBy'])('%s may reject an item with its own message', async (name) => {
  const clock = new VirtualClock();
  const check = (item: number) => {
    if (item < 0) throw new BatchwiseError('INVALID_ITEM', 'expected a positive number.');
    return item + 1;
  };
  const batcher = new Batcher((items: number[]) => items, { clock, [name]: check });
  const outcomes = [outcomeOf(batcher.submit(-1)), outcomeOf(batcher.submit(1))];
  await clock.advance(0);
  expect(outcomes[0]?.error).toMatchObject({ code: 'INVALID_ITEM', message: 'expected a positive number.' });
  expect(outcomes[1]?.value).toBe(1);
  expectRest(batcher);
});

test.each([
  ['undefined', undefined],
  ['null', null],
  ['an array of 1', ['one']],
  ['an array of 3', ['one', 'two', 'three']],
  ['the string "ok"', 'ok'],
  ['an object', { 0: 'one', 1: 'two', length: 2 }],
  ['an object (Map)', new Map()],
  ['an object (DataView)', new DataView(new ArrayBuffer(2))],
  ['an object (Float32Array of 3)', new Float32Array(3)],
])(
  'a handler that returns %s: BAD_RESULT, and the message says what was expected',
  async (came, returned) => {
    for (const handler of [() => returned, async () => returned]) {
      const clock = new VirtualClock();
      const batcher = new Batcher(handler as never, { clock, name: 'resnet' });
      const outcomes = [1, 2].map((item) => outcomeOf(batcher.submit(item as never)));
      await clock.advance(0);
      for (const { code, error } of outcomes) {
        expect(code).toBe('BAD_RESULT');
        expect((error as Error).message).toBe(
          `resnet: the handler must return an array of 2 results, one for each item, in order, but returned ${came}.`,
        );
      }
      expectRest(batcher);
    }
  },
);

test('a handler without Promise.all: the message says so, and rejections of its promises are handled', async () => {
  const clock = new VirtualClock();
  const handler = (items: number[]) => items.map(async (item) => Promise.reject(new Error(`late ${item}`)));
  const batcher = new Batcher<number, never>(handler as never, { clock });
  const outcomes = [1, 2].map((item) => outcomeOf(batcher.submit(item)));
  await clock.advance(0);
  for (const { code, error } of outcomes) {
    expect(code).toBe('BAD_RESULT');
    expect((error as Error).message).toContain('return await Promise.all(results) instead');
  }
});

test('a class as handler: the batch fails with the error of JavaScript', async () => {
  class Model {
    processBatch(items: number[]) {
      return items;
    }
  }
  const clock = new VirtualClock();
  const batcher = new Batcher<number, number>(Model as never, { clock });
  const outcome = outcomeOf(batcher.submit(1));
  await clock.advance(0);
  expect(outcome.code).toBe('HANDLER_FAILED');
  expect((outcome.error as Error).message).toContain("cannot be invoked without 'new'");
});

test('a sink that throws does not affect other items, and its error is uncaught', async () => {
  const clock = new VirtualClock();
  const batcher = new Batcher(
    (items: string[]) => items.map((item) => (item === 'bad' ? new Error('bad') : item)),
    {
      clock,
      maxBatchSize: 2,
    },
  );
  const broken = new Error('broken sink');
  const throwing = () => {
    throw broken;
  };
  const fine = ['a', 'b', 'c'].map(() => new RecordingSink<string>());
  const uncaught = await uncaughtErrorsDuring(async () => {
    batcher.enqueue('x', { resolve: throwing, reject: throwing });
    batcher.enqueue('a', fine[0] as never);
    batcher.enqueue('bad', { resolve: throwing, reject: throwing });
    batcher.enqueue('b', fine[1] as never);
    batcher.enqueue('gone', { resolve: throwing, reject: throwing }).cancel();
    batcher.enqueue('late', { resolve: throwing, reject: throwing }, { timeoutMs: 0 });
    batcher.enqueue('c', fine[2] as never);
    await clock.advance(0);
  });
  expect(uncaught).toEqual([broken, broken, broken, broken]);
  expect(fine.map(({ fate }) => fate)).toEqual(['ok', 'ok', 'ok']);
  expectRest(batcher);
});

test('a handler may change its array of items without effect on its callers', async () => {
  const clock = new VirtualClock();
  const batcher = new Batcher(
    (items: number[]) => {
      const results = [...items];
      items.length = 0;
      return results;
    },
    { clock },
  );
  const outcomes = [1, 2].map((item) => outcomeOf(batcher.submit(item)));
  await clock.advance(0);
  expect(outcomes.map(({ value }) => value)).toEqual([1, 2]);
});
