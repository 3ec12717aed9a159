/** Types that the compiler infers. Checked by `tsc -b`; at run time only built. */
import {
  type AdaptiveOptions,
  AsyncBatcher,
  adaptive,
  type BatchContext,
  type BatchedFunction,
  Batcher,
  type BatcherOptions,
  type BatcherStats,
  type BatchRecord,
  batched,
  type Clock,
  type CurvePoint,
  type EnqueueOptions,
  type ErrorCode,
  greedy,
  type LiveOptions,
  type Policy,
  type Reason,
  type Sink,
  type SubmitOptions,
  type Ticket,
  VirtualClock,
  window,
} from 'batchwise';
import { expectTypeOf, test } from 'vitest';

test('the types of item and result follow from the handler', () => {
  const lengths = new Batcher(async (words: string[]) => words.map((word) => word.length));
  expectTypeOf(lengths).toEqualTypeOf<Batcher<string, number>>();
  expectTypeOf(lengths.submit).parameter(0).toEqualTypeOf<string>();
  expectTypeOf(lengths.submit).parameter(1).toEqualTypeOf<SubmitOptions | undefined>();
  expectTypeOf(lengths.submit).returns.resolves.toEqualTypeOf<number>();
  expectTypeOf(lengths.submitMany).parameter(0).toEqualTypeOf<readonly string[]>();
  expectTypeOf(lengths.submitMany).returns.resolves.toEqualTypeOf<number[]>();
});

test('the same from a synchronous handler, a read-only result, and an object with processBatch', () => {
  expectTypeOf(new Batcher((words: string[]) => words.map(Number))).toEqualTypeOf<Batcher<string, number>>();
  const frozen = (words: string[]): readonly number[] => words.map(Number);
  expectTypeOf(new Batcher(frozen)).toEqualTypeOf<Batcher<string, number>>();
  const model = { processBatch: async (rows: number[][]) => rows.map(() => 'setosa') };
  expectTypeOf(new Batcher(model)).toEqualTypeOf<Batcher<number[], string>>();
});

test('the same from a typed array of numbers', () => {
  const scores = new Batcher(async (rows: number[][]) => new Float32Array(rows.length));
  expectTypeOf(scores).toEqualTypeOf<Batcher<number[], number>>();
  const ids = new Batcher((rows: number[][]) => new BigInt64Array(rows.length));
  expectTypeOf(ids).toEqualTypeOf<Batcher<number[], bigint>>();
  // @ts-expect-error a string is no list of results
  new Batcher((rows: number[][]) => rows.join());
});

test('an Error among the results is a failure, not a result', () => {
  const parse = new Batcher((texts: string[]) =>
    texts.map((text): number | Error => (text === '' ? new RangeError('empty') : Number(text))),
  );
  expectTypeOf(parse.submit).returns.resolves.toEqualTypeOf<number>();
  const later = new Batcher(async (texts: string[]): Promise<(number | Error)[]> => texts.map(Number));
  expectTypeOf(later).toEqualTypeOf<Batcher<string, number>>();
});

test('options have the type of the item', () => {
  new Batcher(async (rows: number[][]) => rows, {
    costOf: (row) => {
      expectTypeOf(row).toEqualTypeOf<number[]>();
      return row.length;
    },
    groupOf: (row) => {
      expectTypeOf(row).toEqualTypeOf<number[]>();
      return row.length;
    },
    dedupeBy: (row) => {
      expectTypeOf(row).toEqualTypeOf<number[]>();
      return row.join();
    },
  });
  expectTypeOf<NonNullable<BatcherOptions<string>['costOf']>>().toEqualTypeOf<(item: string) => number>();
  expectTypeOf<NonNullable<BatcherOptions<string>['clock']>>().toEqualTypeOf<Clock>();
  expectTypeOf<BatcherOptions<string>['curve']>().toEqualTypeOf<readonly CurvePoint[] | undefined>();
  expectTypeOf<LiveOptions<string>['batchSizes']>().toEqualTypeOf<readonly number[] | undefined>();
  expectTypeOf<LiveOptions<string>['admission']>().toEqualTypeOf<boolean | undefined>();
  expectTypeOf<LiveOptions<string>>().not.toHaveProperty('curve');
  expectTypeOf<LiveOptions<string>>().not.toHaveProperty('clock');
  expectTypeOf<LiveOptions<string>>().not.toHaveProperty('name');
  expectTypeOf(new VirtualClock()).toExtend<Clock>();
});

test('a batched function has the types of its item and result', () => {
  const classify = batched(async (rows: number[][]) => rows.map(() => 'setosa'));
  expectTypeOf(classify).toEqualTypeOf<BatchedFunction<number[], string>>();
  expectTypeOf(classify).parameter(0).toEqualTypeOf<number[]>();
  expectTypeOf(classify).returns.resolves.toEqualTypeOf<string>();
  expectTypeOf(classify.batcher).toEqualTypeOf<Batcher<number[], string>>();
});

test('the context of a handler', () => {
  new Batcher((items: number[], context) => {
    expectTypeOf(context).toEqualTypeOf<BatchContext>();
    expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
    expectTypeOf(context.reason).toEqualTypeOf<Reason>();
    expectTypeOf(context.paddedCost).toEqualTypeOf<number>();
    expectTypeOf(context.group).toBeUnknown();
    return items;
  });
});

test('sinks and tickets', () => {
  const batcher = new Batcher((items: string[]) => items.map(Number));
  expectTypeOf(batcher.enqueue).parameters.toEqualTypeOf<
    [item: string, sink: Sink<number>, options?: EnqueueOptions | undefined]
  >();
  expectTypeOf(batcher.enqueue).returns.toEqualTypeOf<Ticket>();
  expectTypeOf<Sink<number>['resolve']>().parameters.toEqualTypeOf<[number, BatchRecord]>();
  expectTypeOf<EnqueueOptions>().not.toHaveProperty('signal');
  expectTypeOf<SubmitOptions>().toHaveProperty('signal');
});

test('policies, statistics, error codes', () => {
  expectTypeOf(greedy()).toEqualTypeOf<Policy>();
  expectTypeOf(window({ maxWaitMs: 5 })).toEqualTypeOf<Policy>();
  expectTypeOf(adaptive()).toEqualTypeOf<Policy>();
  expectTypeOf(adaptive).parameter(0).toEqualTypeOf<AdaptiveOptions | undefined>();
  expectTypeOf<AdaptiveOptions['prefer']>().toEqualTypeOf<'latency' | 'efficiency' | undefined>();
  expectTypeOf<BatcherStats['reasons']>().toEqualTypeOf<Readonly<Record<Reason, number>>>();
  expectTypeOf<BatcherStats['fullBatchMs']>().toEqualTypeOf<number | undefined>();
  expectTypeOf<'QUEUE_FULL'>().toExtend<ErrorCode>();
});

test('a subclass of AsyncBatcher names its types once', () => {
  class Embedder extends AsyncBatcher<string, Float32Array> {
    async processBatch(batch: string[]) {
      return batch.map(() => new Float32Array(4));
    }
  }
  expectTypeOf<Embedder['process']>().parameter(0).toEqualTypeOf<string>();
  expectTypeOf<Embedder['process']>().returns.resolves.toEqualTypeOf<Float32Array>();
  expectTypeOf<Embedder>().toExtend<Batcher<string, Float32Array>>();
});

test('misuse does not compile', () => {
  const lengths = new Batcher(async (words: string[]) => words.map((word) => word.length));
  const wrong = (): unknown[] => [
    // @ts-expect-error an item of the wrong type
    lengths.submit(5),
    // @ts-expect-error a misspelt option of a call
    lengths.submit('word', { timeout: 5 }),
    // @ts-expect-error a handler that returns one result for all items
    new Batcher(async (words: string[]) => words.length),
    // @ts-expect-error a misspelt option
    new Batcher(async (words: string[]) => words, { maxBatchsize: 5 }),
    // @ts-expect-error one size in place of a list of sizes
    new Batcher(async (words: string[]) => words, { batchSizes: 64 }),
    // @ts-expect-error a preference that does not exist
    adaptive({ prefer: 'speed' }),
    // @ts-expect-error the curve cannot be changed
    lengths.configure({ curve: [] }),
    // @ts-expect-error name cannot be changed
    lengths.configure({ name: 'other' }),
    // @ts-expect-error a result that is used as another type
    lengths.submit('word').then((length) => length.toUpperCase()),
    // @ts-expect-error a subclass without the batch method
    new (class extends AsyncBatcher<string, number> {})(),
  ];
  expectTypeOf(wrong).returns.toBeArray();
});
