/** The options of `serveBatched()`, and their one check. */
import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import { BatchwiseError, type Clock, didYouMean, realClock } from 'batchwise';
import type { BatchedContext } from './batched-method.js';

/** How a call that was not cancelled has ended. */
export interface BatchEnd {
  /** The status of the whole call; 0 is OK. */
  readonly status: number;
  /** Empty when the status is OK. */
  readonly message: string;
  readonly items: number;
  /** Those that have an error of their own although the status is OK. */
  readonly failedItems: number;
}

export interface ServeBatchedOptions {
  /**
   * The streaming method for each batched one: `{ compute: 'ComputeMany' }`.
   * @default 'Batched' and the method's name
   */
  readonly batched?: Readonly<Record<string, string>>;
  /** Ordinary implementations: of other methods, and of unary ones that are not to be a batch of one. */
  readonly others?: UntypedServiceImplementation;
  /** A stream with more items ends with RESOURCE_EXHAUSTED. @default 1024 */
  readonly maxItems?: number;
  /** A stream whose messages are more than this together ends with RESOURCE_EXHAUSTED. @default 64 MiB */
  readonly maxBytes?: number;
  /** @default the length of the message, found by serializing it again, unless `maxBytes` is `Infinity` */
  readonly bytesOf?: (item: unknown) => number;
  /** A method that takes longer has failed. @default Infinity: the caller's deadline alone counts */
  readonly handlerTimeoutMs?: number;
  /**
   * What is sent in the place of an item that has failed, and dropped by the proxy.
   * @default the message that no bytes at all are, which every Protobuf message can be
   */
  readonly emptyAnswer?: unknown;
  /** An item was received. What it throws fails the call. */
  readonly onItem?: (item: unknown, context: BatchedContext) => void;
  /** All items are there, and the method is about to be called. What it throws fails the call. */
  readonly onExecute?: (items: readonly unknown[], context: BatchedContext) => void;
  /** The last word of a call whose answers, or whose error, were sent. */
  readonly onFinish?: (end: BatchEnd, context: BatchedContext) => void;
  /** The last word of a call that nobody waits for any more. */
  readonly onCancel?: (context: BatchedContext) => void;
  /** @default realClock */
  readonly clock?: Clock;
}

export interface BatchedSettings extends ServeBatchedOptions {
  readonly maxItems: number;
  readonly maxBytes: number;
  readonly handlerTimeoutMs: number;
  readonly clock: Clock;
}

const KEYS: readonly (keyof ServeBatchedOptions)[] = [
  'batched',
  'others',
  'maxItems',
  'maxBytes',
  'bytesOf',
  'handlerTimeoutMs',
  'emptyAnswer',
  'onItem',
  'onExecute',
  'onFinish',
  'onCancel',
  'clock',
];

const FUNCTIONS = ['bytesOf', 'onItem', 'onExecute', 'onFinish', 'onCancel'] as const;

export function validBatchedOptions(options: ServeBatchedOptions): BatchedSettings {
  for (const key of Object.keys(options)) {
    if (!(KEYS as readonly string[]).includes(key)) {
      throw invalid(
        `serveBatched() has no option "${key}".${didYouMean(key, KEYS)} It has ${KEYS.join(', ')}.`,
      );
    }
  }
  for (const key of FUNCTIONS) {
    const value = options[key];
    if (value !== undefined && typeof value !== 'function') {
      throw invalid(`${key}: expected a function, got ${String(value)}.`);
    }
  }
  return {
    ...options,
    maxItems: validLimit('maxItems', options.maxItems ?? 1024),
    maxBytes: validLimit('maxBytes', options.maxBytes ?? 64 * 1024 * 1024),
    handlerTimeoutMs: validLimit('handlerTimeoutMs', options.handlerTimeoutMs ?? Number.POSITIVE_INFINITY),
    clock: options.clock ?? realClock,
  };
}

function validLimit(key: string, value: number): number {
  if (typeof value === 'number' && value > 0) return value;
  throw invalid(`${key}: expected a number above 0, got ${String(value)}.`);
}

function invalid(message: string): BatchwiseError {
  return new BatchwiseError('INVALID_OPTION', message);
}
