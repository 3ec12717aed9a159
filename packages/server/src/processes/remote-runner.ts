/**
 * A runner in other processes, with one or several replicas. A call goes to the replica with the least predicted
 * latency. Each call is settled exactly once: answered, or rejected as soon as it cannot be answered any more.
 *
 * Replicas are not backends of a batcher: the batcher is in the replica, so that calls of all web processes share its
 * batches. A web process therefore chooses a replica for each call, not for each batch.
 */
import {
  type Runner,
  type RunnerSettings,
  type RunnerSink,
  type RunnerState,
  type RunnerTicket,
  type Signature,
  WatchedState,
} from '@batchwise/runners';
import { BatchwiseError, type Clock, type CloseOptions, type EnqueueOptions, realClock } from 'batchwise';
import { LateCalls } from './late-calls.js';
import { throwLater } from './remote-call.js';
import { Replica } from './replica.js';
import { fromWireError } from './wire-error.js';
import type { RunnerDescription } from './wire-message.js';

export interface RemoteRunnerOptions {
  readonly name: string;
  /** The unix socket of each replica. */
  readonly sockets: readonly string[];
  /** Its timeout ends calls to a process that hangs. */
  readonly settings?: Pick<RunnerSettings, 'timeoutMs'> | undefined;
  /** The description from an earlier connection, for the time before the first one. */
  readonly known?: Pick<RunnerDescription, 'kind' | 'platform' | 'signature'> | undefined;
  readonly clock?: Clock | undefined;
  readonly maxFrameBytes?: number | undefined;
  readonly maxBacklogBytes?: number | undefined;
}

/** The runner process rejects an overdue call itself; after this time the web process does. */
const GRACE_MS = 500;
const CONGESTED_RETRY_MS = 100;
const SETTLED: RunnerTicket = { cancel: () => {} };

export class RemoteRunner<I = unknown, R = unknown> implements Runner<I, R> {
  readonly name: string;
  readonly ready: Promise<void>;
  readonly #clock: Clock;
  readonly #replicas: readonly Replica[];
  readonly #lateCalls: LateCalls;
  readonly #state = new WatchedState('loading');
  #description: Pick<RunnerDescription, 'kind' | 'platform' | 'signature'>;
  #isGrouped: boolean | undefined;
  #timeoutMs: number;
  #turn = 0;
  #onAllReady: (() => void)[] = [];
  #closing: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;
  #becomeReady: () => void = () => {};
  #becomeFailed: (error: Error) => void = () => {};

  constructor(options: RemoteRunnerOptions) {
    this.name = options.name;
    this.#clock = options.clock ?? realClock;
    this.#description = options.known ?? { kind: 'function', platform: 'unknown', signature: undefined };
    this.#timeoutMs = options.settings?.timeoutMs ?? Number.POSITIVE_INFINITY;
    this.ready = new Promise((resolve, reject) => {
      this.#becomeReady = resolve;
      this.#becomeFailed = reject;
    });
    this.ready.catch(() => {}); // the state and each call report the failure
    this.#lateCalls = new LateCalls(this.#clock, (now) =>
      Math.min(...this.#replicas.map((replica) => replica.endLate(now))),
    );
    this.#replicas = options.sockets.map(
      (socket) =>
        new Replica({
          name: this.name,
          socket,
          clock: this.#clock,
          watchesLoad: options.sockets.length > 1,
          maxFrameBytes: options.maxFrameBytes,
          maxBacklogBytes: options.maxBacklogBytes,
          onDescribed: (description) => this.#described(description),
          onLost: () => this.#updateState(),
          onIdle: () => this.#onIdle?.(),
        }),
    );
  }

  get kind(): 'model' | 'function' {
    return this.#description.kind;
  }

  get platform(): string {
    return this.#description.platform;
  }

  get signature(): Signature | undefined {
    return this.#description.signature;
  }

  get problem(): string | undefined {
    return this.#replicas.find(({ problem }) => problem !== undefined)?.problem;
  }

  get isGrouped(): boolean | undefined {
    return this.#isGrouped;
  }

  get state(): RunnerState {
    return this.#state.current;
  }

  onStateChange(listener: () => void): () => void {
    return this.#state.onChange(listener);
  }

  /** Ready while at least one replica is. */
  #updateState(): void {
    if (this.state === 'closed') return;
    const isFailed = this.#replicas.every(({ state }) => state === 'failed');
    this.#state.become(this.readyReplicas > 0 ? 'ready' : isFailed ? 'failed' : 'loading', this.problem);
    if (this.readyReplicas === this.#replicas.length) this.#tellAllReady();
  }

  /** Resolves when all replicas are ready at the same time, or when the runner is closed. `ready` needs one replica. */
  allReady(): Promise<void> {
    return new Promise((resolve) => {
      if (this.readyReplicas === this.#replicas.length) resolve();
      else this.#onAllReady.push(resolve);
    });
  }

  get readyReplicas(): number {
    return this.#replicas.filter(({ state }) => state === 'ready').length;
  }

  enqueue(item: I, sink: RunnerSink<R>, options?: EnqueueOptions): RunnerTicket {
    const now = this.#clock.now();
    const replica = this.#closing === undefined ? this.#quickest(now) : undefined;
    if (replica === undefined) return this.#reject(sink);
    const timeoutMs = Math.min(options?.timeoutMs ?? Number.POSITIVE_INFINITY, this.#timeoutMs);
    const lateAt = now + timeoutMs + GRACE_MS;
    this.#lateCalls.expect(lateAt, now);
    return replica.call(item, sink as RunnerSink<unknown>, options, lateAt);
  }

  configure(settings: RunnerSettings): void {
    this.#timeoutMs = settings.timeoutMs;
    for (const replica of this.#replicas) replica.configure(settings);
  }

  stats(): undefined {
    return undefined;
  }

  /** Finishes the calls of this process. The runner process keeps running, because other processes call it, too. */
  close(options: CloseOptions = {}): Promise<void> {
    this.#closing ??= this.#close(options.timeoutMs);
    return this.#closing;
  }

  async #close(timeoutMs = Number.POSITIVE_INFINITY): Promise<void> {
    this.#state.become('closed');
    this.#tellAllReady();
    this.#becomeFailed(closedError(this.name));
    await this.#idleWithin(timeoutMs);
    for (const replica of this.#replicas) replica.close();
    this.#lateCalls.close();
  }

  #tellAllReady(): void {
    for (const tell of this.#onAllReady.splice(0)) tell();
  }

  #idleWithin(timeoutMs: number): Promise<void> {
    const isIdle = () => this.#replicas.every(({ outstanding }) => outstanding === 0);
    if (isIdle() || timeoutMs <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer =
        timeoutMs < Number.POSITIVE_INFINITY ? this.#clock.setTimer(resolve, timeoutMs) : undefined;
      this.#onIdle = () => {
        if (!isIdle()) return;
        this.#clock.clearTimer(timer);
        resolve();
      };
    });
  }

  /** The ready replica with the least predicted latency; round robin among equals. */
  #quickest(now: number): Replica | undefined {
    const { length } = this.#replicas;
    let quickest: Replica | undefined;
    let leastMs = Number.POSITIVE_INFINITY;
    this.#turn = (this.#turn + 1) % length;
    for (let step = 0; step < length; step += 1) {
      const replica = this.#replicas[(this.#turn + step) % length] as Replica;
      if (replica.state !== 'ready' || replica.isCongested) continue;
      const waitMs = length === 1 ? 0 : replica.waitMs(now);
      if (waitMs >= leastMs) continue;
      quickest = replica;
      leastMs = waitMs;
    }
    return quickest;
  }

  #reject(sink: RunnerSink<R>): RunnerTicket {
    try {
      sink.reject(this.#rejection());
    } catch (error) {
      throwLater(error);
    }
    return SETTLED;
  }

  #rejection(): BatchwiseError {
    if (this.#closing !== undefined) return closedError(this.name);
    if (this.readyReplicas > 0) {
      const text = `${this.name}: the runner process does not read calls as fast as they arrive.`;
      return new BatchwiseError('OVERLOADED', text, { retryAfterMs: CONGESTED_RETRY_MS });
    }
    return new BatchwiseError('UNAVAILABLE', `${this.name}: no runner process is ready. Try again.`);
  }

  #described(description: RunnerDescription): void {
    if (this.#closing !== undefined) return;
    const { kind, platform, signature, isGrouped, error } = description;
    this.#isGrouped = isGrouped;
    this.#description = { kind, platform, signature: signature ?? this.#description.signature };
    this.#updateState();
    const { state } = this;
    if (state === 'ready') this.#becomeReady();
    if (state === 'failed') {
      this.#becomeFailed(
        error === undefined
          ? new BatchwiseError('UNAVAILABLE', `${this.name}: the runner has failed.`)
          : fromWireError(error),
      );
    }
  }
}

function closedError(name: string): BatchwiseError {
  return new BatchwiseError('CLOSED', `${name}: the runner is closed.`);
}
