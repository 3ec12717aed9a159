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
import type { WaitingBatch } from './worth-waiting.js';

/** What all batched methods of a proxy share. */
export interface MethodShared {
  readonly pool: BackendPool;
  readonly lateEnds: LateEnds;
  readonly queueBytes: QueueBytes;
  readonly maxMessageBytes: number;
  readonly requests: RequestMetrics;
  readonly clock: Clock;
  readonly log: (line: string) => void;
}

const { POSITIVE_INFINITY } = Number;
const NOTHING = Buffer.alloc(0);
const LARGE_ANSWER_BYTES = 16 * 1024;
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

  readonly #queueBytes: QueueBytes;
  readonly #requests: RequestMetrics;
  readonly #batcher: Batcher<ProxyItem, Buffer>;
  readonly #line: PermitLine;
  #open = 0;
  #lastBatchMs = UNKNOWN_RETRY_MS;

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
      policy: new PermitPolicy(policy, line, this, worthWaitingMs),
      concurrency: pool.capacity,
      groupOf: (item) => item.group,
    });
  }

  /** Takes a call in: it is answered once, whatever happens. */
  accept(call: IncomingCall): void {
    const arrivedAt = this.clock.now();
    const timeoutMs = call.timeoutMs ?? this.settings.timeoutMs;
    const item = new ProxyItem(this, call, arrivedAt, arrivedAt + timeoutMs);
    const { down } = this.pool;
    this.#requests.started(this.path);
    this.#open += 1;
    if (down === undefined) item.read();
    else item.reject(down);
  }

  arrived(item: ProxyItem): void {
    const { frame, headers, deadline } = item;
    if (isCompressed(frame) && encodingOf(headers) === 'identity') {
      item.frame = NOTHING;
      item.reject(
        new GrpcError(STATUS.INTERNAL, 'the message is compressed, but grpc-encoding does not say how'),
      );
      return;
    }
    if (!this.#queueBytes.take(frame.length)) {
      item.frame = NOTHING;
      item.reject(this.#tooManyBytes());
      return;
    }
    item.group = groupKeyOf(headers, frame.length - PREFIX_BYTES, this.settings);
    if (deadline === POSITIVE_INFINITY) item.ticket = this.#batcher.enqueue(item, item);
    else {
      // Of the caller's time, some may have gone by until the message was complete.
      const timeoutMs = Math.max(0, deadline - this.clock.now());
      item.ticket = this.#batcher.enqueue(item, item, { timeoutMs });
    }
  }

  /** A caller that does not read its answer keeps it in memory: a large one counts until it is taken. */
  answered({ call }: ProxyItem, answer: Buffer): void {
    const { length } = answer;
    if (length < LARGE_ANSWER_BYTES || call.isClosed) return;
    this.#queueBytes.add(length);
    call.onTaken(() => this.#queueBytes.giveBack(length));
  }

  done({ frame, arrivedAt }: ProxyItem, status: number): void {
    this.#queueBytes.giveBack(frame.length);
    this.#open -= 1;
    this.#requests.ended(this.path, status, this.clock.now() - arrivedAt);
  }

  readonly tookMs = (durationMs: number): void => {
    this.#lastBatchMs = durationMs;
    this.isProven = true;
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

  wake(): boolean {
    if (this.#batcher.stats().queued === 0) return false;
    this.#batcher.configure({});
    return true;
  }

  close(options?: CloseOptions): Promise<void> {
    return this.#batcher.close(options);
  }

  destroy(): void {
    this.#batcher.destroy();
    this.#line.leave(this);
  }

  #run(items: ProxyItem[], context: BatchContext): Promise<Results<never>> {
    return new Promise((resolve) => new BatchStream(this, items, context, resolve).start());
  }

  #tooManyBytes(): GrpcError {
    const { max } = this.#queueBytes;
    const message = `${this.path}: the messages that wait take all of maxQueueBytes (${max} bytes)`;
    return new GrpcError(STATUS.RESOURCE_EXHAUSTED, message, { trailers: pushback(this.#lastBatchMs) });
  }
}
