import { shownValue } from '@batchwise/runners';
import { BatchwiseError, type Handler } from 'batchwise';
import type { FunctionBatching, FunctionDeclaration } from './runner-declaration.js';
import { type RunnerOptions, validRunnerOptions } from './runner-options.js';

export interface FunctionOptions<Item> extends RunnerOptions, FunctionBatching<Item> {
  /**
   * Runs the function on `concurrency` worker threads: for a CPU-bound function, which would otherwise block the event
   * loop. Each thread loads the service module; items and results are copied.
   * @default false
   */
  readonly thread?: boolean | undefined;
}

const FUNCTIONS = ['costOf', 'groupOf', 'dedupeBy'] as const;

/**
 * A function over arrays as a runner: `(items, context) => results`, with one result per item in the same order. Unless
 * it is `batchable`, each batch has one item.
 */
export function fn<Item, Result>(
  handler: Handler<Item, Result>,
  { costOf, groupOf, dedupeBy, isolate, thread = false, ...options }: FunctionOptions<Item> = {},
): FunctionDeclaration<Item, Result> {
  if (typeof handler !== 'function')
    throw expected('handler', 'a function (items, context) => results', handler);
  const batcher = { costOf, groupOf, dedupeBy, isolate };
  for (const key of FUNCTIONS) {
    if (batcher[key] !== undefined && typeof batcher[key] !== 'function') {
      throw expected(key, 'a function of an item', batcher[key]);
    }
  }
  if (isolate !== undefined && typeof isolate !== 'boolean')
    throw expected('isolate', 'true or false', isolate);
  if (typeof thread !== 'boolean') throw expected('thread', 'true or false', thread);
  const settings = validRunnerOptions('fn(handler, options)', options, [...Object.keys(batcher), 'thread']);
  return Object.freeze({
    kind: 'function' as const,
    handler,
    settings,
    thread,
    batcher: Object.freeze(batcher),
  });
}

function expected(name: string, what: string, came: unknown): BatchwiseError {
  return new BatchwiseError(
    'INVALID_OPTION',
    `fn(handler, options): ${name}: expected ${what}, got ${shownValue(came)}.`,
  );
}
