/** The methods and options of `serveBatched()`, and the validation of the options. */
import type {
  Metadata,
  MethodDefinition,
  ServiceDefinition,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { type Clock, realClock } from 'batchwise';
import { expected, validFunction, validKeys } from '../options/valid-option.js';

export interface BatchedContext {
  /** The path of the method that was called: `/pkg.Service/BatchedCompute`. */
  readonly path: string;
  /** Aborted when the answers are no longer needed: the call was cancelled, or its deadline or `handlerTimeoutMs` exceeded. */
  readonly signal: AbortSignal;
  /** Metadata of the call. From a proxy: the entries that are equal for all items. */
  readonly metadata: Metadata;
  /** Undefined if the call has none. */
  readonly deadline: Date | undefined;
  /** The address of the peer. Behind a proxy this is the proxy, not its client. */
  readonly peer: string;
}

/** Returns one result per item, in the same order. A result that is an `Error` fails only its item. */
export type BatchedMethod<Input, Output> = (
  items: Input[],
  context: BatchedContext,
) => BatchedResults<Output> | PromiseLike<BatchedResults<Output>>;

export type BatchedResults<Output> = readonly (Output | Error)[];

/** Keyed by the name of the unary method (`Compute` or `compute`), typed by the service definition. */
export type BatchedMethods<Definition extends ServiceDefinition> = {
  readonly [Name in keyof Definition as
    | Name
    | Uncapitalize<Name & string>]?: Definition[Name] extends MethodDefinition<infer Input, infer Output>
    ? BatchedMethod<Input, Output>
    : never;
};

/** The end of a call that was not cancelled. */
export interface BatchEnd {
  /** The status of the whole call; 0 is OK. */
  readonly status: number;
  /** Empty when the status is OK. */
  readonly message: string;
  readonly items: number;
  /** Items that failed individually although the status of the call is OK. */
  readonly failedItems: number;
}

export interface ServeBatchedOptions {
  /**
   * The streaming method of each batched method: `{ compute: 'ComputeMany' }`.
   * @default 'Batched' and the method's name
   */
  readonly batched?: Readonly<Record<string, string>>;
  /** Ordinary implementations of other methods. Also of unary methods that should not run as a batch of one. */
  readonly others?: UntypedServiceImplementation;
  /** A stream with more items ends with RESOURCE_EXHAUSTED. @default 1024 */
  readonly maxItems?: number;
  /** A stream with more bytes of messages ends with RESOURCE_EXHAUSTED. @default 64 MiB */
  readonly maxBytes?: number;
  /** The size of an item. @default the length of the message, which is serialized again unless `maxBytes` is `Infinity` */
  readonly bytesOf?: (item: unknown) => number;
  /** Timeout of the method. @default Infinity: only the deadline of the call counts */
  readonly handlerTimeoutMs?: number;
  /**
   * The placeholder that is sent for a failed item. The proxy drops it.
   * @default the message that zero bytes decode to, which is valid for every Protobuf message
   */
  readonly emptyAnswer?: unknown;
  /** Called for each received item. An error it throws fails the call. */
  readonly onItem?: (item: unknown, context: BatchedContext) => void;
  /** Called after the last item, before the method runs. An error it throws fails the call. */
  readonly onExecute?: (items: readonly unknown[], context: BatchedContext) => void;
  /** Called after the answers or the error of a call were sent. */
  readonly onFinish?: (end: BatchEnd, context: BatchedContext) => void;
  /** Called when a call was cancelled or its deadline exceeded. */
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
  validKeys('serveBatched(definition, methods, options)', options, KEYS);
  for (const key of FUNCTIONS) if (options[key] !== undefined) validFunction(key, options[key]);
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
  throw expected(key, 'a number above 0', value);
}
