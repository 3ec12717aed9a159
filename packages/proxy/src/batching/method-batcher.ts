/** One batched method: its batcher, and the admission of its calls. */
import { GrpcError, type IncomingCall, isCompressed, PREFIX_BYTES, STATUS } from '@batchwise/grpc';
import type { RequestMetrics } from '@batchwise/metrics';
import {
  adaptive,
  type BatchContext,
  Batcher,
  type BatcherStats,
  type Clock,
  type CloseOptions,
  type Results,
  window,
} from 'batchwise';
import type { Backend, RoutedItem } from '../backends/backend.js';
import type { BackendPool } from '../backends/backend-pool.js';
import { pushback } from '../grpc-errors.js';
import { batchedPathOf, type MethodSettings } from '../options/method-options.js';
import { type BatchRoute, BatchStream } from './batch-stream.js';
import { encodingOf, groupKeyOf } from './group-key.js';
import type { OpenStreamEnds } from './open-stream-ends.js';
import { type ItemMethod, ProxyItem } from './proxy-item.js';
import type { QueueBytes } from './queue-bytes.js';
import type { Tenant, Tenants } from './tenants.js';
import { ThrottlingPolicy } from './throttling-policy.js';

/** The context shared by all batched methods of a proxy. */
export interface MethodShared {
  readonly pool: BackendPool;
  readonly openStreamEnds: OpenStreamEnds;
  readonly queueBytes: QueueBytes;
  readonly tenants: Tenants;
  readonly maxMessageBytes: number;
  readonly requests: RequestMetrics;
  readonly clock: Clock;
  readonly log: (line: string) => void;
}

const { POSITIVE_INFINITY } = Number;
const EMPTY = Buffer.alloc(0);
const LARGE_ANSWER_BYTES = 16 * 1024;
/** Groups with queued calls per tenant, over all methods. Each group needs a batch of its own. */
export const MAX_GROUPS_PER_TENANT = 256;
/** Methods with open calls per tenant: a quarter of the methods of the proxy. */
export const MAX_METHODS_PER_TENANT = 64;
const TOO_MANY_GROUPS = `${MAX_GROUPS_PER_TENANT} groups that cannot share a batch, the limit`;
const TOO_MANY_METHODS = `${MAX_METHODS_PER_TENANT} methods, the limit`;
/** The retry delay for rejected callers before the first batch was measured. */
const UNKNOWN_RETRY_MS = 1000;

export class MethodBatcher implements BatchRoute, ItemMethod {
  readonly path: string;
  readonly batchedPath: string;
  readonly settings: MethodSettings;
  readonly pool: BackendPool;
  readonly openStreamEnds: OpenStreamEnds;
  readonly clock: Clock;
  readonly log: (line: string) => void;
  readonly maxMessageBytes: number;
  /** A counter over all methods: the method with the smallest value is the least recently used. */
  lastUse = 0;
  /** A backend has answered a batch of this method, so a backend serves it. */
  isServed = false;
  /** Called when `isServed` becomes true. */
  onServed: () => void = () => {};

  readonly #queueBytes: QueueBytes;
  readonly #tenants: Tenants;
  /** Tenants with queued calls of this method. */
  readonly #queuedTenants = new Set<Tenant>();
  #servedMs = Number.POSITIVE_INFINITY;
  /** `Tenants.version` when `#servedMs` was computed; -1 if it is outdated. */
  #servedVersion = -1;
  readonly #requests: RequestMetrics;
  readonly #batcher: Batcher<RoutedItem, Buffer>;
  #openCalls = 0;
  #lastBatchMs = UNKNOWN_RETRY_MS;
  /** Slot time of the last batch, successful or not. */
  #slotMs = 0;

  constructor(path: string, settings: MethodSettings, shared: MethodShared) {
    const { pool, clock } = shared;
    this.path = path;
    this.batchedPath = batchedPathOf(path, settings);
    this.settings = settings;
    this.pool = pool;
    this.openStreamEnds = shared.openStreamEnds;
    this.clock = clock;
    this.log = shared.log;
    this.maxMessageBytes = shared.maxMessageBytes;
    this.#queueBytes = shared.queueBytes;
    this.#tenants = shared.tenants;
    this.#requests = shared.requests;
    const { maxBatchSize, maxWaitMs, targetLatencyMs, timeoutMs, maxQueueSize } = settings;
    this.#batcher = new Batcher<RoutedItem, Buffer>({
      backends: pool.set,
      slotOrder: () => this.#leastServedMs,
      name: path,
      clock,
      maxBatchSize,
      maxWaitMs,
      targetLatencyMs,
      timeoutMs,
      maxQueueSize,
      policy: new ThrottlingPolicy(
        maxWaitMs === undefined ? adaptive() : window({ maxWaitMs }),
        shared.tenants,
      ),
      groupOf: (item) => (item as ProxyItem).group,
    });
  }

  /** Accepts a call. It gets exactly one answer. */
  accept(call: IncomingCall): void {
    const arrivedAt = this.clock.now();
    const timeoutMs = call.timeoutMs ?? this.settings.timeoutMs;
    const tenant = this.#tenants.of(call);
    const item = new ProxyItem(this, call, tenant, arrivedAt, arrivedAt + timeoutMs);
    const { down } = this.pool;
    const hasTooManyMethods = tenant.openCalls.size >= MAX_METHODS_PER_TENANT && !tenant.openCalls.has(this);
    tenant.opened(this);
    this.#tenants.wasActive(tenant, arrivedAt);
    this.#requests.started(this.path);
    this.#openCalls += 1;
    if (down !== undefined) item.reject(down);
    else if (hasTooManyMethods) item.reject(this.#exhausted(TOO_MANY_METHODS));
    else item.read();
  }

  onMessage(item: ProxyItem): void {
    const { frame, headers, deadline, tenant } = item;
    if (isCompressed(frame) && encodingOf(headers) === 'identity') {
      item.frame = EMPTY;
      item.reject(
        new GrpcError(STATUS.INTERNAL, 'the message is compressed, but the call has no grpc-encoding'),
      );
      return;
    }
    item.group = groupKeyOf(headers, frame.length - PREFIX_BYTES, this.settings);
    if (tenant.queuedGroups >= MAX_GROUPS_PER_TENANT && !tenant.isQueuedIn(this, item.group)) {
      item.frame = EMPTY;
      item.reject(this.#exhausted(TOO_MANY_GROUPS));
      return;
    }
    if (!this.#queueBytes.take(tenant, frame.length)) {
      item.frame = EMPTY;
      item.reject(
        this.#exhausted(`its share of maxQueueBytes (${this.#queueBytes.max} bytes in total) is used`),
      );
      return;
    }
    this.#enqueued(item);
    // Part of the timeout may have passed until the message was complete.
    const options =
      deadline === POSITIVE_INFINITY
        ? { tenant: tenant.id }
        : { tenant: tenant.id, timeoutMs: Math.max(0, deadline - this.clock.now()) };
    item.ticket = this.#batcher.enqueue(item, item, options);
  }

  /** An answer stays in memory until the caller reads it, so large answers are counted until then. */
  onAnswer({ call, tenant }: ProxyItem, answer: Buffer): void {
    const { length } = answer;
    if (length < LARGE_ANSWER_BYTES || call.isClosed) return;
    // Keeps the tenant until the memory is released.
    tenant.opened(this.#queueBytes);
    this.#queueBytes.addAnswer(tenant, length);
    call.onTaken(() => {
      this.#queueBytes.removeAnswer(tenant, length);
      tenant.closed(this.#queueBytes);
    });
  }

  onDone(item: ProxyItem, status: number): void {
    const { frame, arrivedAt, tenant } = item;
    this.#dequeued(item);
    if (frame.length > 0) this.#queueBytes.release(tenant, frame.length);
    tenant.closed(this);
    this.#openCalls -= 1;
    this.#requests.ended(this.path, status, this.clock.now() - arrivedAt);
  }

  readonly onCompleted = (durationMs: number): void => {
    this.#lastBatchMs = durationMs;
    if (this.isServed) return;
    this.isServed = true;
    this.onServed();
  };

  /** No call is open. */
  get isIdle(): boolean {
    return this.#openCalls === 0;
  }

  stats(): BatcherStats {
    return this.#batcher.stats();
  }

  close(options?: CloseOptions): Promise<void> {
    return this.#batcher.close(options);
  }

  destroy(): void {
    this.#batcher.destroy();
  }

  onNotStarted(items: readonly ProxyItem[]): void {
    for (const item of items) this.#enqueued(item);
  }

  /** Sends a batch. Called by the backend that the core has chosen. */
  run(backend: Backend, batch: readonly RoutedItem[], context: BatchContext): Promise<Results<never>> {
    const items = batch as readonly ProxyItem[];
    const startedAt = this.clock.now();
    const charged = this.#tenants.charge(
      items.map(({ tenant }) => tenant),
      items.reduce((sum, { frame }) => sum + frame.length, 0),
      this.#slotMs,
    );
    for (const item of items) this.#dequeued(item);
    return new BatchStream(this, backend, items, context).send().finally(() => {
      const now = this.clock.now();
      this.#slotMs = now - startedAt;
      charged(this.#slotMs, now);
    });
  }

  /** The slot time of the least served tenant with queued calls. The method with the lowest value gets the next free slot. */
  get #leastServedMs(): number {
    if (this.#servedVersion !== this.#tenants.version) {
      this.#servedVersion = this.#tenants.version;
      this.#servedMs = POSITIVE_INFINITY;
      for (const { servedMs } of this.#queuedTenants) this.#servedMs = Math.min(this.#servedMs, servedMs);
    }
    return this.#servedMs;
  }

  #enqueued(item: ProxyItem): void {
    const { tenant } = item;
    item.isQueued = true;
    this.#tenants.beforeEnqueue(tenant);
    tenant.enqueued(this, item.group);
    if (this.#queuedTenants.has(tenant)) return;
    this.#queuedTenants.add(tenant);
    this.#servedVersion = -1;
  }

  #dequeued(item: ProxyItem): void {
    if (!item.isQueued) return;
    item.isQueued = false;
    const { tenant } = item;
    const isStillQueued = tenant.dequeued(this, item.group);
    this.#tenants.afterDequeue(tenant);
    if (isStillQueued) return;
    this.#queuedTenants.delete(tenant);
    this.#servedVersion = -1;
  }

  #exhausted(reason: string): GrpcError {
    const message = `${this.path}: too many queued calls of this client: ${reason}`;
    return new GrpcError(STATUS.RESOURCE_EXHAUSTED, message, { trailers: pushback(this.#lastBatchMs) });
  }
}
