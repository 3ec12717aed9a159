/** Which methods are batched, and how: the options of one rule, and where they are checked. */
import { isMetadata } from '@batchwise/grpc';
import {
  expected,
  invalidOption,
  validCount,
  validKeys,
  validLimitMs,
  validList,
  validSpanMs,
  validText,
} from './valid-option.js';

export interface MethodOptions {
  /** The unary method that callers call, `/pkg.Service/Compute`; `*` in place of `/pkg.Service` for that of any service. */
  readonly method: string;
  /**
   * The streaming method that the backend has for it: a name in the same service, or a full path.
   * @default 'Batched' and the method's name
   */
  readonly batched?: string | undefined;
  /**
   * The most items a batch may have.
   * @default 64
   */
  readonly maxBatchSize?: number | undefined;
  /**
   * Given, batches leave when they are full or their first item has waited so long.
   * @default not given: the moment is learned
   */
  readonly maxWaitMs?: number | undefined;
  /**
   * What a call's whole stay should be; one that cannot make it is refused at once.
   * @default Infinity
   */
  readonly targetLatencyMs?: number | undefined;
  /**
   * The deadline of calls that come without `grpc-timeout`.
   * @default Infinity
   */
  readonly timeoutMs?: number | undefined;
  /**
   * How many calls may wait; one more is refused.
   * @default 10,000
   */
  readonly maxQueueSize?: number | undefined;
  /** What calls must have in common to share a batch, besides encoding and content type. */
  readonly groupBy?: GroupByOptions | undefined;
}

export interface GroupByOptions {
  /**
   * Keys of metadata whose values must be the same.
   * @default ['authorization']
   */
  readonly metadata?: readonly string[] | undefined;
  /**
   * Upper bounds, rising: messages whose length lies between the same two may share a batch.
   * @default none: messages of any length may
   */
  readonly messageBytes?: readonly number[] | undefined;
}

/** One rule, checked and complete. */
export interface MethodSettings {
  readonly method: string;
  /** Undefined for the default name. */
  readonly batched: string | undefined;
  readonly maxBatchSize: number;
  readonly maxWaitMs: number | undefined;
  readonly targetLatencyMs: number;
  readonly timeoutMs: number;
  readonly maxQueueSize: number;
  readonly groupByMetadata: readonly string[];
  readonly groupByBytes: readonly number[];
}

const KNOWN = [
  'method',
  'batched',
  'maxBatchSize',
  'maxWaitMs',
  'targetLatencyMs',
  'timeoutMs',
  'maxQueueSize',
  'groupBy',
];

const { POSITIVE_INFINITY } = Number;

export function methodSettings(where: string, options: unknown): MethodSettings {
  const given = validKeys(where, options, KNOWN);
  const { metadata, messageBytes } = validKeys(`${where}.groupBy`, given.groupBy ?? {}, [
    'metadata',
    'messageBytes',
  ]);
  const option = <T>(key: string, check: (name: string, value: unknown) => T, fallback: T): T =>
    given[key] === undefined ? fallback : check(`${where}.${key}`, given[key]);
  return Object.freeze({
    method: validMethod(`${where}.method`, given.method),
    batched: option('batched', validBatchedName, undefined),
    maxBatchSize: option('maxBatchSize', (name, value) => validCount(name, value, 1, MOST_ITEMS), 64),
    maxWaitMs: option<number | undefined>(
      'maxWaitMs',
      (name, value) => validSpanMs(name, value, 0),
      undefined,
    ),
    targetLatencyMs: option('targetLatencyMs', validLimitMs, POSITIVE_INFINITY),
    timeoutMs: option('timeoutMs', validLimitMs, POSITIVE_INFINITY),
    maxQueueSize: option('maxQueueSize', (name, value) => validCount(name, value), 10_000),
    groupByMetadata:
      metadata === undefined ? ['authorization'] : validMetadataKeys(`${where}.groupBy.metadata`, metadata),
    groupByBytes:
      messageBytes === undefined
        ? [LARGE_MESSAGE_BYTES]
        : validBounds(`${where}.groupBy.messageBytes`, messageBytes),
  });
}

/** A larger message would make small ones that share its batch wait until it has been moved. */
const LARGE_MESSAGE_BYTES = 2 ** 18;
/** More would be a mistake, and a stream that no backend collects. */
const MOST_ITEMS = 65_536;

function validMethod(name: string, value: unknown): string {
  const method = validText(name, value);
  if (!/^(\*|\/[^/*\s]+)\/[^/*\s]+$/.test(method)) {
    throw expected(name, "'/pkg.Service/Method', or '*/Method' for that of any service", value);
  }
  return method;
}

function validBatchedName(name: string, value: unknown): string {
  const batched = validText(name, value);
  if (!/^(\/[^/*\s]+\/)?[^/*\s]+$/.test(batched)) {
    throw expected(name, "a method's name, or a full path '/pkg.Service/Method'", value);
  }
  return batched;
}

function validMetadataKeys(name: string, value: unknown): readonly string[] {
  return validList(name, value, 'metadata keys').map((key, i) => {
    const text = validText(`${name}[${i}]`, key).toLowerCase();
    if (!/^[0-9a-z_.-]+$/.test(text)) throw expected(`${name}[${i}]`, 'a metadata key', key);
    if (!isMetadata(text)) {
      throw invalidOption(`${name}[${i}]: ${text} is the protocol's own; it is no metadata of the caller.`);
    }
    return text;
  });
}

function validBounds(name: string, value: unknown): readonly number[] {
  const bounds = validList(name, value, 'rising numbers of bytes').map((bound, i) =>
    validCount(`${name}[${i}]`, bound),
  );
  bounds.forEach((bound, i) => {
    const before = bounds[i - 1] ?? 0;
    if (bound <= before) throw expected(`${name}[${i}]`, `more than ${before}`, bound);
  });
  return bounds;
}
