/** One batched method: its batcher, and the way of a call into it. */
import { GrpcError, type IncomingCall, isCompressed, PREFIX_BYTES, STATUS } from '@batchwise/grpc';
import type { RequestMetrics } from '@batchwise/metrics';
import {
  adaptive,
  type BatchContext,
  Batcher,
  type BatcherStats,
  type Clock,
  type CloseOptions,
  type QueueView,
  type Results,
  window,
} from 'batchwise';
import type { BackendPool } from './backend-pool.js';
import { type BatchRoute, BatchStream } from './batch-stream.js';
import { pushback } from './error-to-grpc.js';
import { encodingOf, groupKeyOf } from './group-key.js';
import type { LateEnds } from './late-ends.js';
import type { MethodSettings } from './method-options.js';
import { batchedPathOf } from './method-table.js';
import type { InLine, PermitLine } from './permit-line.js';
import { PermitPolicy } from './permit-policy.js';
import { type ItemOwner, ProxyItem } from './proxy-item.js';
import type { QueueBytes } from './queue-bytes.js';
import type { Tenant, Tenants } from './tenants.js';
import type { WaitingBatch } from './worth-waiting.js';

/** What all batched methods of a proxy share. */
export interface MethodShared {
  readonly pool: BackendPool;
  readonly lateEnds: LateEnds;
  readonly queueBytes: QueueBytes;
  readonly tenants: Tenants;
  readonly maxMessageBytes: number;
  readonly requests: RequestMetrics;
  readonly clock: Clock;
  readonly log: (line: string) => void;
}

const { POSITIVE_INFINITY } = Number;
const NOTHING = Buffer.alloc(0);
const LARGE_ANSWER_BYTES = 16 * 1024;
/** In how many groups of all methods calls of one tenant may wait: each is a batch of its own. */
export const MOST_GROUPS_OF_TENANT = 256;
/** Of how many methods calls of one tenant may be open: the proxy has room for four times as many. */
export const MOST_METHODS_OF_TENANT = 64;
const TOO_MANY_GROUPS = `they form ${MOST_GROUPS_OF_TENANT} groups that cannot share a batch`;
const TOO_MANY_METHODS = `they are of ${MOST_METHODS_OF_TENANT} methods`;
/** What to tell a caller to wait while nothing is known of the backends. */
const UNKNOWN_RETRY_MS = 1000;

export class MethodBatcher implements BatchRoute, ItemOwner, InLine {
  readonly path: string;
  readonly batchedPath: string;
  readonly settings: MethodSettings;
  readonly pool: BackendPool;
  readonly lateEnds: LateEnds;
  readonly clock: Clock;
  readonly log: (line: string) => void;
  readonly maxMessageBytes: number;
  /** Counts up with every use of any method: the smallest was not used for longest. */
  lastUse = 0;
  /** A backend has answered a batch of it: it is no name that a caller made up. */
  isProven = false;
  /** Called when that is so. */
  onProven: () => void = () => {};

  readonly #queueBytes: QueueBytes;
  readonly #tenants: Tenants;
  /** Those that have calls waiting here. */
  readonly #waiting = new Set<Tenant>();
  #servedMs = Number.POSITIVE_INFINITY;
  /** Of the tenants, when that was worked out; -1 when it has to be worked out again. */
  #servedVersion = -1;
  readonly #requests: RequestMetrics;
  readonly #batcher: Batcher<ProxyItem, Buffer>;
  readonly #line: PermitLine;
  #open = 0;
  #lastBatchMs = UNKNOWN_RETRY_MS;
  /** How long the last batch had its slot, however it ended. */
  #slotMs = 0;

  constructor(path: string, settings: MethodSettings, shared: MethodShared, line: PermitLine) {
    const { pool, clock } = shared;
    this.path = path;
    this.batchedPath = batchedPathOf(path, settings);
    this.settings = settings;
    this.pool = pool;
    this.lateEnds = shared.lateEnds;
    this.clock = clock;
    this.log = shared.log;
    this.maxMessageBytes = shared.maxMessageBytes;
    this.#queueBytes = shared.queueBytes;
    this.#tenants = shared.tenants;
    this.#requests = shared.requests;
    const { maxBatchSize, maxWaitMs, targetLatencyMs, timeoutMs, maxQueueSize } = settings;
    this.#line = line;
    const policy = maxWaitMs === undefined ? adaptive() : window({ maxWaitMs });
    // With a window it is said how long a batch may be kept back, and this would be longer.
    const worthWaitingMs =
      maxWaitMs === undefined ? (batch: WaitingBatch, at: number) => pool.worthWaitingMs(batch, at) : () => 0;
    this.#batcher = new Batcher<ProxyItem, Buffer>((items, context) => this.#run(items, context), {
      name: path,
      clock,
      maxBatchSize,
      targetLatencyMs,
      timeoutMs,
      maxQueueSize,
      policy: new PermitPolicy(policy, line, this, worthWaitingMs, (view, now) => this.#pausedMs(view, now)),
      concurrency: pool.capacity,
      groupOf: (item) => item.group,
    });
  }

  /** Takes a call in: it is answered once, whatever happens. */
  accept(call: IncomingCall): void {
    const arrivedAt = this.clock.now();
    const timeoutMs = call.timeoutMs ?? this.settings.timeoutMs;
    const tenant = this.#tenants.of(call);
    const item = new ProxyItem(this, call, tenant, arrivedAt, arrivedAt + timeoutMs);
    const { down } = this.pool;
    const isOneTooMany = tenant.methods.size >= MOST_METHODS_OF_TENANT && !tenant.methods.has(this);
    tenant.opened(this);
    this.#tenants.wasActive(tenant, arrivedAt);
    this.#requests.started(this.path);
    this.#open += 1;
    if (down !== undefined) item.reject(down);
    else if (isOneTooMany) item.reject(this.#exhausted(TOO_MANY_METHODS));
    else item.read();
  }

  arrived(item: ProxyItem): void {
    const { frame, headers, deadline, tenant } = item;
    if (isCompressed(frame) && encodingOf(headers) === 'identity') {
      item.frame = NOTHING;
      item.reject(
        new GrpcError(STATUS.INTERNAL, 'the message is compressed, but grpc-encoding does not say how'),
      );
      return;
    }
    item.group = groupKeyOf(headers, frame.length - PREFIX_BYTES, this.settings);
    if (tenant.groups >= MOST_GROUPS_OF_TENANT && !tenant.waitsIn(this, item.group)) {
      item.frame = NOTHING;
      item.reject(this.#exhausted(TOO_MANY_GROUPS));
      return;
    }
    if (!this.#queueBytes.take(tenant, frame.length)) {
      item.frame = NOTHING;
      item.reject(
        this.#exhausted(`its share of maxQueueBytes (${this.#queueBytes.max} bytes for all) is used`),
      );
      return;
    }
    this.#enter(item);
    // Of the caller's time, some may have gone by until the message was complete.
    const options =
      deadline === POSITIVE_INFINITY
        ? { tenant: tenant.id }
        : { tenant: tenant.id, timeoutMs: Math.max(0, deadline - this.clock.now()) };
    item.ticket = this.#batcher.enqueue(item, item, options);
  }

  get servedMs(): number {
    if (this.#servedVersion !== this.#tenants.version) {
      this.#servedVersion = this.#tenants.version;
      this.#servedMs = POSITIVE_INFINITY;
      for (const { servedMs } of this.#waiting) this.#servedMs = Math.min(this.#servedMs, servedMs);
    }
    return this.#servedMs;
  }

  /** A caller that does not read its answer keeps it in memory: a large one counts until it is taken. */
  answered({ call, tenant }: ProxyItem, answer: Buffer): void {
    const { length } = answer;
    if (length < LARGE_ANSWER_BYTES || call.isClosed) return;
    // As long as it holds something, the tenant is not forgotten.
    tenant.opened(this.#queueBytes);
    this.#queueBytes.addAnswer(tenant, length);
    call.onTaken(() => {
      this.#queueBytes.answerTaken(tenant, length);
      tenant.closed(this.#queueBytes);
    });
  }

  done(item: ProxyItem, status: number): void {
    const { frame, arrivedAt, tenant } = item;
    this.#leave(item);
    if (frame.length > 0) this.#queueBytes.giveBack(tenant, frame.length);
    tenant.closed(this);
    this.#open -= 1;
    this.#requests.ended(this.path, status, this.clock.now() - arrivedAt);
  }

  readonly tookMs = (durationMs: number): void => {
    this.#lastBatchMs = durationMs;
    if (this.isProven) return;
    this.isProven = true;
    this.onProven();
  };

  /** Nobody is in it: neither waiting nor running nor sending. */
  get isIdle(): boolean {
    return this.#open === 0;
  }

  stats(): BatcherStats {
    return this.#batcher.stats();
  }

  setConcurrency(concurrency: number): void {
    this.#batcher.configure({ concurrency });
  }

  wake(): void {
    this.#batcher.configure({});
  }

  close(options?: CloseOptions): Promise<void> {
    return this.#batcher.close(options);
  }

  destroy(): void {
    this.#batcher.destroy();
    this.#line.leave(this);
  }

  #run(items: ProxyItem[], context: BatchContext): Promise<Results<never>> {
    const startedAt = this.clock.now();
    const charged = this.#tenants.charge(
      items.map(({ tenant }) => tenant),
      items.reduce((sum, { frame }) => sum + frame.length, 0),
      this.#slotMs,
    );
    for (const item of items) this.#leave(item);
    return new Promise((resolve) => {
      const done = (results: Results<never>) => {
        const now = this.clock.now();
        this.#slotMs = now - startedAt;
        charged(this.#slotMs, now);
        resolve(results);
      };
      new BatchStream(this, items, context, done).start();
    });
  }

  #enter(item: ProxyItem): void {
    const { tenant } = item;
    item.isWaiting = true;
    this.#tenants.arrive(tenant);
    tenant.enter(this, item.group);
    if (this.#waiting.has(tenant)) return;
    this.#waiting.add(tenant);
    this.#servedVersion = -1;
  }

  #leave(item: ProxyItem): void {
    if (!item.isWaiting) return;
    item.isWaiting = false;
    const { tenant } = item;
    const waitsHere = tenant.leave(this, item.group);
    this.#tenants.left(tenant);
    if (waitsHere) return;
    this.#waiting.delete(tenant);
    this.#servedVersion = -1;
  }

  /** Only for a group of one tenant: a tenant that shares a batch with others holds them up no longer than it must. */
  #pausedMs(view: QueueView, now: number): number {
    const id = view.tenantAt?.(0);
    const pausedMs = this.#tenants.pausedMs(id, now);
    const mostLooks = Math.min(view.length, view.limits.maxBatchSize);
    for (let i = 1; pausedMs > 0 && i < mostLooks; i++) if (view.tenantAt?.(i) !== id) return 0;
    return pausedMs;
  }

  #exhausted(reason: string): GrpcError {
    const message = `${this.path}: too many calls of this client are waiting: ${reason}`;
    return new GrpcError(STATUS.RESOURCE_EXHAUSTED, message, { trailers: pushback(this.#lastBatchMs) });
  }
}
