/** The options that name a table, and the checks that get and write share. */
import type { NativeAttributeValue } from '@aws-sdk/lib-dynamodb';
import { invalidOption } from '@batchwise/aws';
import { type BatcherOptions, type Clock, realClock } from 'batchwise';

/** An item or a key, as the document client takes it. */
export type Attributes = Record<string, NativeAttributeValue>;

export interface TableOptions {
  /** Name or ARN of the table. */
  readonly table: string;
  /** The attributes of the primary key: the partition key, then the sort key if the table has one. */
  readonly keys: readonly string[];
}

/** What `costOf` would change is fixed: DynamoDB counts items. */
export type CoreOptions<I> = Omit<BatcherOptions<I>, 'costOf'>;

/**
 * How many requests are in flight at a time unless the user says otherwise. A request takes some milliseconds, most of
 * it network: with one at a time, the next batch of 25 would wait although DynamoDB has capacity for it.
 */
const DEFAULT_CONCURRENCY = 4;

/** The options for the core's batcher, with the operation's limit as the default and the maximum of `maxBatchSize`. */
export function batcherOptions<I>(
  options: CoreOptions<I>,
  { operation, limit }: { readonly operation: string; readonly limit: number },
): BatcherOptions<I> & { readonly clock: Clock } {
  const { maxBatchSize = limit, concurrency = DEFAULT_CONCURRENCY, name, clock = realClock } = options;
  if ('costOf' in options) {
    throw invalidOption(`costOf: ${operation} counts items, so every item costs 1. Leave the option out.`);
  }
  if (!(maxBatchSize >= 1 && maxBatchSize <= limit)) {
    throw invalidOption(
      `maxBatchSize: expected 1 to ${limit}, the limit of ${operation}, got ${maxBatchSize}.`,
    );
  }
  return { ...options, maxBatchSize, concurrency, name: name ?? operation, clock };
}

export function checkTable({ table, keys }: TableOptions): void {
  if (typeof table !== 'string' || !/^(arn:.+|[\w.-]{3,255})$/.test(table)) {
    throw invalidOption(`table: expected the name or the ARN of a table, got ${JSON.stringify(table)}.`);
  }
  const isList = Array.isArray(keys) && keys.length >= 1 && keys.length <= 2;
  if (!isList || !keys.every((name) => typeof name === 'string' && name !== '') || keys[0] === keys[1]) {
    throw invalidOption(
      `keys: expected the names of the partition key and, if the table has one, the sort key, got ${JSON.stringify(keys)}.`,
    );
  }
}
