import { type BatchContext, isThenable, type Results } from './batch/handler.js';
import { Batcher } from './batcher.js';
import { invalidOption, validBoolean, validCount, validFunction, validKeys } from './errors/valid.js';
import type { SubmitOptions } from './options/call-options.js';
import { type BatcherOptions, OPTION_NAMES } from './options/options.js';

export interface AsyncBatcherOptions<I> extends BatcherOptions<I> {
  /** Another name for `maxBatchSize`. */
  readonly batchSize?: number | undefined;
}

export interface StopOptions {
  /** `destroy()` instead of `close()`: rejects all items now. */
  readonly force?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
}

/**
 * A batcher to subclass: its batch method is the handler.
 *
 *     class Printer extends AsyncBatcher<string, void> {
 *       async processBatch(batch: string[]) { console.log(batch); }
 *     }
 *     const printer = new Printer({ batchSize: 20 });
 *     await printer.process('hello');
 *
 * When `processBatch` returns nothing, every call resolves to `undefined`.
 */
export abstract class AsyncBatcher<I, R> extends Batcher<I, R> {
  constructor(options: AsyncBatcherOptions<I> = {}) {
    super((items, context) => {
      validFunction('processBatch of the subclass', this.processBatch);
      return answersOf(this.processBatch(items, context), items.length);
    }, sized(options));
  }

  abstract processBatch(
    batch: I[],
    context: BatchContext,
  ): PromiseLike<Results<R> | undefined> | Results<R> | PromiseLike<void> | void;

  /** Another name for `submit`. */
  process(item: I, options?: SubmitOptions): Promise<R> {
    return this.submit(item, options);
  }

  /** `close()`, or with `force` `destroy()`. */
  async stop(options: StopOptions = {}): Promise<void> {
    const { force = false, ...closeOptions } = validKeys('stop(options)', options, ['force', 'timeoutMs']);
    if (validBoolean('stop({ force })', force)) this.destroy();
    await this.close(closeOptions);
  }
}

function sized<I>(options: AsyncBatcherOptions<I>): BatcherOptions<I> {
  const { batchSize, ...rest }: AsyncBatcherOptions<I> = validKeys('options', options, [
    'batchSize',
    ...OPTION_NAMES,
  ]);
  if (batchSize === undefined) return rest;
  validCount('batchSize', batchSize, { minusOne: true });
  if (rest.maxBatchSize === undefined) return { ...rest, maxBatchSize: batchSize };
  throw invalidOption('batchSize and maxBatchSize are two names for one option: give one of them.');
}

function answersOf<R>(returned: unknown, size: number): PromiseLike<Results<R>> | Results<R> {
  if (isThenable(returned)) return Promise.resolve(returned).then((results) => answersOf(results, size));
  return (returned ?? new Array(size).fill(undefined)) as Results<R>;
}
