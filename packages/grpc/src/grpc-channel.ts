import type { OutgoingHttpHeaders } from 'node:http2';
import { createSecureContext } from 'node:tls';
import { type Clock, realClock } from 'batchwise';
import { Backoff } from './backoff.js';
import { callHeaders, streamHeaders } from './call-headers.js';
import type { ChannelOptions, ChannelState } from './channel-options.js';
import { ClientCall } from './client-call.js';
import { certificatesOf } from './client-tls.js';
import { Connection, type ConnectionListener } from './connection.js';
import { DeadlineHeap } from './deadline-heap.js';
import { unreferenced } from './expiry-line.js';
import { GrpcError } from './grpc-error.js';
import type { CallHandlers, CallOptions, OutgoingCall } from './outgoing-call.js';
import type { RawStream } from './raw-stream.js';
import { STATUS } from './status.js';
import { parseTarget, type TargetAddress } from './target.js';
import type { Waiting } from './waiting.js';
import { WaitingStream } from './waiting-stream.js';

/**
 * A peer, as its clients see it: connections are opened when they are needed, and again, with growing
 * pauses, when they fail. Calls wait for a connection while it is being made, and end at once in a pause.
 */
export class GrpcChannel {
  readonly target: string;
  readonly #options: ChannelOptions;
  readonly #clock: Clock;
  readonly #address: TargetAddress;
  readonly #authority: string;
  readonly #scheme: string;
  readonly #maxConnections: number;
  readonly #deadlines: DeadlineHeap;
  readonly #backoff: Backoff;
  readonly #listeners = new Set<(state: ChannelState) => void>();
  readonly #whenClosed: (() => void)[] = [];
  /** Those that take new calls, or will when they are ready. */
  readonly #usable = new Set<Connection>();
  /** Those that only let their calls end. */
  readonly #leaving = new Set<Connection>();
  readonly #connectionListener: ConnectionListener;
  #waiting: Waiting[] = [];
  /** How many of them have had their turn, while others are having theirs. */
  #served = 0;
  #isServing = false;
  #state: ChannelState = 'idle';
  #lastError: Error | undefined;
  #keepaliveMs: number;
  #retryTimer: unknown;

  constructor(options: ChannelOptions) {
    this.#options = options;
    this.#clock = options.clock ?? realClock;
    this.target = options.target;
    this.#address = parseTarget(options.target);
    this.#authority = options.authority ?? this.#address.authority;
    this.#scheme = options.tls === undefined ? 'http' : 'https';
    // Certificates that cannot be read are told here, not by the first call.
    if (typeof options.tls === 'object') createSecureContext(certificatesOf(options.tls));
    this.#maxConnections = options.connections ?? 1;
    this.#keepaliveMs = options.keepaliveMs ?? DEFAULT_KEEPALIVE_MS;
    this.#deadlines = new DeadlineHeap(this.#clock);
    this.#backoff = new Backoff(options.backoff);
    this.#connectionListener = {
      ready: () => this.#ready(),
      hasRoom: () => this.#serveWaiting(),
      leaving: (connection, isTooManyPings) => this.#left(connection, isTooManyPings),
      closed: (connection, error) => this.#closed(connection, error),
    };
  }

  get state(): ChannelState {
    return this.#state;
  }

  /** Why the last connection failed or was lost. */
  get lastError(): Error | undefined {
    return this.#lastError;
  }

  /** Calls and streams that are open, on whatever connection. */
  get openCalls(): number {
    let open = 0;
    for (const connection of this.#usable) open += connection.openStreams;
    for (const connection of this.#leaving) open += connection.openStreams;
    return open;
  }

  /** Connections that are ready for calls, or only let theirs end. */
  get openConnections(): number {
    let open = this.#leaving.size;
    for (const connection of this.#usable) if (connection.isReady) open++;
    return open;
  }

  /** How many streams the peer allows on a connection; Infinity while that is not known. */
  get maxStreams(): number {
    for (const connection of this.#usable) if (connection.isReady) return connection.maxStreams;
    return Number.POSITIVE_INFINITY;
  }

  /** Returns how to stop listening. */
  onStateChange(listener: (state: ChannelState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Connects if it is idle; without it, the first call does. */
  connect(): void {
    if (this.#state === 'idle') this.#open();
  }

  /** While idle or connecting it waits for the connection; while failing it ends at once with UNAVAILABLE. */
  call(path: string, options: CallOptions, handlers: CallHandlers): OutgoingCall {
    const { timeoutMs } = options;
    const call = new ClientCall(
      callHeaders(this.#scheme, this.#authority, path, options),
      handlers,
      options.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES,
    );
    if (timeoutMs !== undefined) {
      if (!(timeoutMs > 0)) {
        call.due();
        return call;
      }
      call.dueAt = this.#clock.now() + timeoutMs;
      this.#deadlines.add(call);
    }
    this.#admit(call);
    return call;
  }

  /**
   * A raw stream for passing a call through as it is, with these headers; `:method`, `:authority` and `te`
   * may be left out. The callback gets an error instead when there is no connection, perhaps before this has
   * returned. Returns how to give up waiting: the callback is not called then.
   */
  openStream(
    headers: OutgoingHttpHeaders,
    callback: (error: GrpcError | undefined, stream?: RawStream) => void,
  ): () => void {
    const waiting = new WaitingStream(
      { ...streamHeaders(this.#scheme, this.#authority), ...headers, ':scheme': this.#scheme },
      callback,
    );
    this.#admit(waiting);
    return () => {
      waiting.isOver = true;
    };
  }

  /** Takes no new calls; resolves when the open ones have ended. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenClosed.push(resolve);
      this.#shut();
      for (const connection of [...this.#usable, ...this.#leaving]) connection.close();
      this.#settleWhenEmpty();
    });
  }

  /** Ends everything now; open calls end as UNAVAILABLE. */
  destroy(): void {
    this.#shut();
    for (const connection of [...this.#usable, ...this.#leaving]) {
      connection.destroy(new Error('the channel was destroyed'));
    }
    this.#deadlines.clear();
    this.#settleWhenEmpty();
  }

  #admit(waiting: Waiting): void {
    if (this.#state === 'closed') {
      waiting.refuse(new GrpcError(STATUS.UNAVAILABLE, `the channel to ${this.target} is closed`));
    } else if (this.#state === 'failing') {
      waiting.refuse(this.#unavailable());
    } else {
      const connection = this.#waiting.length === 0 ? this.#withRoom() : undefined;
      if (connection !== undefined) waiting.begin(connection);
      else {
        this.#waiting.push(waiting);
        this.#openIfNeeded();
      }
    }
  }

  #withRoom(): Connection | undefined {
    let best: Connection | undefined;
    for (const connection of this.#usable) {
      if (connection.hasRoom && (best === undefined || connection.openStreams < best.openStreams)) {
        best = connection;
      }
    }
    return best;
  }

  /** Whoever begins may end a stream at once, its own or another, and so give room while this still goes on. */
  #serveWaiting(): void {
    if (this.#isServing) return;
    this.#isServing = true;
    try {
      for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[this.#served]) {
        const connection = next.isOver ? undefined : this.#withRoom();
        if (!next.isOver && connection === undefined) break;
        this.#served++;
        if (connection !== undefined) next.begin(connection);
      }
    } finally {
      // In one go: of thousands that waited for the connection, each would move all behind it.
      this.#waiting.splice(0, this.#served);
      this.#served = 0;
      this.#isServing = false;
    }
    this.#openIfNeeded();
  }

  /** One at a time, and a further one only when those that are there are full. */
  #openIfNeeded(): void {
    if (this.#waiting.length === 0 || this.#state === 'closed' || this.#retryTimer !== undefined) return;
    if (this.#usable.size >= this.#maxConnections) return;
    for (const connection of this.#usable) if (!connection.isReady) return;
    this.#open();
  }

  #open(): void {
    const options = this.#options;
    this.#usable.add(
      new Connection(
        {
          target: this.target,
          address: this.#address,
          tls: options.tls === true ? {} : options.tls,
          clock: this.#clock,
          connectTimeoutMs: options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS,
          keepaliveMs: this.#keepaliveMs,
          keepaliveTimeoutMs: options.keepaliveTimeoutMs ?? DEFAULT_KEEPALIVE_TIMEOUT_MS,
        },
        this.#connectionListener,
      ),
    );
    if (this.#state !== 'ready') this.#setState('connecting');
  }

  #ready(): void {
    this.#lastError = undefined;
    if (this.#state === 'closed') return;
    this.#setState('ready');
    this.#serveWaiting();
  }

  #left(connection: Connection, isTooManyPings: boolean): void {
    if (isTooManyPings) this.#keepaliveMs *= 2;
    this.#usable.delete(connection);
    this.#leaving.add(connection);
    if (connection.wasOfUse) this.#lostOne();
    else {
      this.#lastError = new Error('the peer closed the connection at once (GOAWAY)');
      this.#failed();
    }
  }

  #closed(connection: Connection, error: Error): void {
    this.#leaving.delete(connection);
    const wasUsable = this.#usable.delete(connection);
    if (wasUsable) this.#lastError = error;
    if (this.#state === 'closed') this.#settleWhenEmpty();
    else if (wasUsable) {
      if (connection.wasOfUse) this.#lostOne();
      else this.#failed();
    }
  }

  /** A connection that had worked is gone: the next call, or the one that waits, opens another. */
  #lostOne(): void {
    this.#backoff.reset();
    if (this.#state === 'closed' || this.#anyReady()) return;
    if (this.#usable.size > 0) this.#setState('connecting');
    else if (this.#retryTimer === undefined) this.#setState('idle');
    this.#openIfNeeded();
  }

  /** A connection could not be made, or was of no use: pause, and tell those who wait. */
  #failed(): void {
    if (this.#state === 'closed') return;
    this.#retryTimer ??= unreferenced(
      this.#clock.setTimer(() => {
        this.#retryTimer = undefined;
        if (this.#state === 'failing') this.#open();
        else this.#openIfNeeded();
      }, this.#backoff.next()),
    );
    if (this.#anyReady()) return;
    this.#setState('failing');
    this.#refuseWaiting(this.#unavailable());
  }

  #anyReady(): boolean {
    for (const connection of this.#usable) if (connection.isReady) return true;
    return false;
  }

  #unavailable(): GrpcError {
    return new GrpcError(
      STATUS.UNAVAILABLE,
      `no connection to ${this.target}: ${this.#lastError?.message ?? 'unknown'}`,
      { cause: this.#lastError },
    );
  }

  #refuseWaiting(error: GrpcError): void {
    const waiting = this.#waiting.slice(this.#served);
    this.#waiting = [];
    this.#served = 0;
    for (const one of waiting) if (!one.isOver) one.refuse(error);
  }

  #shut(): void {
    if (this.#state === 'closed') return;
    if (this.#retryTimer !== undefined) this.#clock.clearTimer(this.#retryTimer);
    this.#retryTimer = undefined;
    this.#setState('closed');
    this.#refuseWaiting(new GrpcError(STATUS.UNAVAILABLE, `the channel to ${this.target} is closed`));
  }

  #settleWhenEmpty(): void {
    if (this.#usable.size + this.#leaving.size > 0) return;
    this.#deadlines.clear();
    for (const settled of this.#whenClosed.splice(0)) settled();
  }

  #setState(state: ChannelState): void {
    if (this.#state === state) return;
    this.#state = state;
    for (const listener of [...this.#listeners]) listener(state);
  }
}

const DEFAULT_MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
const DEFAULT_KEEPALIVE_MS = 310_000;
const DEFAULT_KEEPALIVE_TIMEOUT_MS = 20_000;
const DEFAULT_CONNECT_TIMEOUT_MS = 5_000;
