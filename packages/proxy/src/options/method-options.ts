/** The rules for batched methods: their options, the validation, and which rule applies to a method path. */
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
  /** The unary method, `/pkg.Service/Compute`. `*` instead of `/pkg.Service` matches any service. */
  readonly method: string;
  /**
   * The streaming method of the backend: a name in the same service, or a full path.
   * @default 'Batched' and the method's name
   */
  readonly batched?: string | undefined;
  /**
   * The maximum number of items in a batch.
   * @default 64
   */
  readonly maxBatchSize?: number | undefined;
  /**
   * If given, a batch is dispatched when it is full or its first item has waited this long.
   * @default none: the proxy learns when to dispatch
   */
  readonly maxWaitMs?: number | undefined;
  /**
   * Target for the latency of a call. A call that cannot meet it is rejected at once.
   * @default Infinity
   */
  readonly targetLatencyMs?: number | undefined;
  /**
   * The deadline of calls without `grpc-timeout`.
   * @default Infinity
   */
  readonly timeoutMs?: number | undefined;
  /**
   * The maximum number of queued calls. Calls above it are rejected.
   * @default 10,000
   */
  readonly maxQueueSize?: number | undefined;
  /** Which properties calls in one batch must share, in addition to encoding and content type. */
  readonly groupBy?: GroupByOptions | undefined;
}

export interface GroupByOptions {
  /**
   * Metadata keys whose values must be equal.
   * @default ['authorization']
   */
  readonly metadata?: readonly string[] | undefined;
  /**
   * Ascending upper bounds of length buckets. Only messages of the same bucket share a batch.
   * @default [262,144]: larger messages get batches of their own
   */
  readonly messageBytes?: readonly number[] | undefined;
}

/** One rule, validated and with defaults. */
export interface MethodSettings {
  readonly method: string;
  /** Undefined selects the default name. */
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
    maxBatchSize: option(
      'maxBatchSize',
      (name, value) => validCount(name, value, 1, MAX_BATCH_SIZE_LIMIT),
      64,
    ),
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

/** The transfer of a larger message would delay the small messages of its batch. */
const LARGE_MESSAGE_BYTES = 2 ** 18;
/** A higher limit is a mistake: no backend collects such a stream. */
const MAX_BATCH_SIZE_LIMIT = 65_536;

function validMethod(name: string, value: unknown): string {
  const method = validText(name, value);
  if (!/^(\*|\/[^/*\s]+)\/[^/*\s]+$/.test(method)) {
    throw expected(name, "'/pkg.Service/Method', or '*/Method' for any service", value);
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
      throw invalidOption(`${name}[${i}]: expected metadata of the caller, got the protocol header ${text}.`);
    }
    return text;
  });
}

function validBounds(name: string, value: unknown): readonly number[] {
  const bounds = validList(name, value, 'ascending numbers of bytes').map((bound, i) =>
    validCount(`${name}[${i}]`, bound),
  );
  bounds.forEach((bound, i) => {
    const before = bounds[i - 1] ?? 0;
    if (bound <= before) throw expected(`${name}[${i}]`, `more than ${before}`, bound);
  });
  return bounds;
}

/** The first rule that matches a method path. Methods without a rule are passed through. */
export function ruleOf(rules: readonly MethodSettings[], path: string): MethodSettings | undefined {
  return rules.find(({ method }) => matches(method, path));
}

function matches(pattern: string, path: string): boolean {
  if (!pattern.startsWith('*')) return pattern === path;
  // A gRPC path has two segments: '*' matches exactly one service name.
  const method = pattern.slice(1);
  const end = path.length - method.length;
  return end > 1 && path.startsWith('/') && path.endsWith(method) && path.indexOf('/', 1) === end;
}

/** The path of the streaming method for a unary method. */
export function batchedPathOf(path: string, { batched }: MethodSettings): string {
  if (batched?.startsWith('/')) return batched;
  const service = path.slice(0, path.lastIndexOf('/') + 1);
  return service + (batched ?? `Batched${path.slice(service.length)}`);
}
