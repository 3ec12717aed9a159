/** The options of both ends, with their defaults, and where they are checked. */
import { type BatcherOptions, type Clock, realClock } from 'batchwise';
import type { PayloadKind } from './codec.js';
import type { ConnectionOptions } from './connection/connection-options.js';
import { connectionFrom, queueFrom } from './connection/environment.js';
import { validCount, validKeys, validSpanMs } from './valid-option.js';

interface QueueOptions extends ConnectionOptions {
  /**
   * Name of the queue. Clients and processors with the same name share it.
   * @default REDIS__STREAM_KEY_REQUEST of the environment, else 'request'
   */
  readonly queue?: string | undefined;
  /**
   * Format of items and results: JSON, MessagePack, or unchanged bytes. Both ends must use the same format.
   * @default 'json'
   */
  readonly payload?: PayloadKind | undefined;
  /**
   * Name in errors, statistics and diagnostics.
   * @default the name of the queue
   */
  readonly name?: string | undefined;
  /** @default the real one */
  readonly clock?: Clock | undefined;
}

export interface RedisBatcherOptions<I> extends QueueOptions {
  /**
   * Maximum number of outstanding items in the queue, waiting or running, of all clients together. Further items are
   * rejected.
   * @default 10,000
   */
  readonly maxBacklog?: number | undefined;
  /**
   * Deadline of calls without `timeoutMs`. It is sent with the item: an expired item is not executed.
   * @default Infinity
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Maximum number of items in this process that wait for a connection to Redis. Further items are rejected.
   * @default 10,000
   */
  readonly maxQueueSize?: number | undefined;
  /** Items of this process in flight for which this returns the same value are computed once. */
  readonly dedupeBy?: ((item: I) => unknown) | undefined;
  /**
   * Time after the last heartbeat of this process until its data in Redis is deleted. Must be longer than any pause of
   * the process: later results are lost, and their callers get `UNAVAILABLE`.
   * @default 60,000
   */
  readonly clientTtlMs?: number | undefined;
}

/** What is passed on to the processor's own batcher. */
const BATCHER_OPTIONS = [
  'maxBatchSize',
  'batchSizes',
  'maxWaitMs',
  'targetLatencyMs',
  'concurrency',
  'handlerTimeoutMs',
  'costOf',
  'groupOf',
  'isolate',
  'policy',
  'curve',
  'priorityAgeMs',
] as const satisfies readonly (keyof BatcherOptions<unknown>)[];

export interface RedisProcessorOptions<I>
  extends QueueOptions,
    Pick<BatcherOptions<I>, (typeof BATCHER_OPTIONS)[number]> {
  /**
   * How long a processor may be silent before other processors take over its items. Must be longer than any pause of
   * the process or its event loop. A batch may take longer, because its lease is renewed.
   * @default 15,000
   */
  readonly leaseMs?: number | undefined;
  /**
   * Number of deliveries without a result after which an item becomes a dead letter.
   * @default 3
   */
  readonly maxDeliveries?: number | undefined;
}

const CONNECTION = ['url', 'username', 'password', 'database', 'tls', 'replyTimeoutMs'];
const QUEUE = [...CONNECTION, 'queue', 'payload', 'name', 'clock'];
const CLIENT = [...QUEUE, 'maxBacklog', 'timeoutMs', 'maxQueueSize', 'dedupeBy', 'clientTtlMs'];
const PROCESSOR = [...QUEUE, ...BATCHER_OPTIONS, 'leaseMs', 'maxDeliveries'];

export interface ClientSettings {
  readonly queue: string;
  readonly payload: PayloadKind | undefined;
  readonly name: string;
  readonly clock: Clock;
  readonly maxBacklog: number;
  readonly timeoutMs: number;
  readonly maxQueueSize: number;
  readonly dedupeBy: ((item: never) => unknown) | undefined;
  readonly clientTtlMs: number;
}

export function clientSettings<I>(options: RedisBatcherOptions<I>): ClientSettings {
  validKeys('new RedisBatcher(options)', options, CLIENT);
  const queue = queueFrom(options.queue, process.env);
  const { payload, name = queue, clock = realClock, dedupeBy } = options;
  const { maxBacklog = 10_000, maxQueueSize = 10_000, clientTtlMs = 60_000 } = options;
  return {
    queue,
    payload,
    name,
    clock,
    dedupeBy,
    // The core checks it.
    timeoutMs: options.timeoutMs ?? Number.POSITIVE_INFINITY,
    maxQueueSize: validCount('maxQueueSize', maxQueueSize),
    maxBacklog: validCount('maxBacklog', maxBacklog),
    clientTtlMs: validSpanMs('clientTtlMs', clientTtlMs, 100),
  };
}

export const DEFAULT_LEASE_MS = 15_000;

export interface ProcessorSettings<I> {
  readonly queue: string;
  readonly payload: PayloadKind | undefined;
  readonly name: string;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly maxDeliveries: number;
  readonly priorityAgeMs: number;
  readonly batching: Pick<BatcherOptions<I>, (typeof BATCHER_OPTIONS)[number]>;
}

export function processorSettings<I>(options: RedisProcessorOptions<I>): ProcessorSettings<I> {
  const all = validKeys('new RedisProcessor(handler, options)', options, PROCESSOR);
  const queue = queueFrom(options.queue, process.env);
  const { payload, name = queue, clock = realClock, leaseMs = DEFAULT_LEASE_MS, maxDeliveries = 3 } = options;
  return {
    queue,
    payload,
    name,
    clock,
    leaseMs: validSpanMs('leaseMs', leaseMs, 100),
    maxDeliveries: validCount('maxDeliveries', maxDeliveries),
    priorityAgeMs: options.priorityAgeMs ?? 1000,
    batching: Object.fromEntries(BATCHER_OPTIONS.filter((key) => key in all).map((key) => [key, all[key]])),
  };
}

/** Argument over environment over default. */
export function connectionOf(options: ConnectionOptions): ConnectionOptions {
  return connectionFrom(options, process.env);
}
