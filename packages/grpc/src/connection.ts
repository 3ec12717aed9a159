import type { OutgoingHttpHeaders } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { Clock } from 'batchwise';
import type { ClientTls } from './channel-options.js';
import { tlsOptions } from './client-tls.js';
import { unreferenced } from './expiry-line.js';
import { GrpcError } from './grpc-error.js';
import { headerBytes } from './header-bytes.js';
import { ClientSession, type SessionListener } from './http2/client-session.js';
import type { ClientStream, StreamListener } from './http2/client-stream.js';
import type { PeerSettings } from './http2/peer-settings.js';
import { Keepalive } from './keepalive.js';
import { oneLine } from './one-line.js';
import { checkSendable } from './sendable-headers.js';
import { STATUS } from './status.js';
import type { TargetAddress } from './target.js';

export interface ConnectionOptions {
  /** As messages call it. */
  readonly target: string;
  readonly address: TargetAddress;
  readonly tls: ClientTls | undefined;
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  readonly keepaliveMs: number;
  readonly keepaliveTimeoutMs: number;
}

export interface ConnectionListener {
  ready(connection: Connection): void;
  /** A stream ended, or the peer allows more of them. */
  hasRoom(connection: Connection): void;
  /** The peer wants no new calls here (GOAWAY); open ones may end. */
  leaving(connection: Connection, isTooManyPings: boolean): void;
  closed(connection: Connection, error: Error): void;
}

/** One HTTP/2 connection to a peer. Ready when the peer's settings have come, so that its limits are known. */
export class Connection implements SessionListener {
  readonly #options: ConnectionOptions;
  readonly #listener: ConnectionListener;
  readonly #session: ClientSession;
  #keepalive: Keepalive | undefined;
  #timer: unknown;
  #state: 'connecting' | 'ready' | 'leaving' | 'closed' = 'connecting';
  #openStreams = 0;
  #maxStreams = 0;
  #maxHeaderBytes = Number.POSITIVE_INFINITY;
  #error: Error | undefined;
  #lastSeenId: number | undefined;
  #lastSentId = 0;
  #readyAt: number | undefined;
  #hasAnswered = false;

  constructor(options: ConnectionOptions, listener: ConnectionListener) {
    this.#options = options;
    this.#listener = listener;
    const { address, tls, clock } = options;
    this.#timer = unreferenced(
      clock.setTimer(
        () => this.destroy(new Error(`no connection within ${options.connectTimeoutMs} ms`)),
        options.connectTimeoutMs,
      ),
    );
    this.#session = new ClientSession(this.#openSocket(address, tls), WINDOWS, this);
  }

  get isReady(): boolean {
    return this.#state === 'ready' && !this.#session.destroyed && !this.#session.closed;
  }

  /**
   * Whether it was of any use: a call was begun or answered here, or it lasted a while. Settings alone prove nothing:
   * there are peers that send them and then go away, a balancer without backends, say.
   */
  get wasOfUse(): boolean {
    if (this.#readyAt === undefined) return false;
    const hasBegun = this.#lastSeenId !== undefined && Math.min(this.#lastSeenId, this.#lastSentId) > 0;
    return this.#hasAnswered || hasBegun || this.#options.clock.now() - this.#readyAt >= A_WHILE_MS;
  }

  get session(): ClientSession {
    return this.#session;
  }

  get target(): string {
    return this.#options.target;
  }

  get clock(): Clock {
    return this.#options.clock;
  }

  get openStreams(): number {
    return this.#openStreams;
  }

  /** How many streams the peer allows at a time. */
  get maxStreams(): number {
    return this.#maxStreams;
  }

  get hasRoom(): boolean {
    return this.isReady && this.#openStreams < this.#maxStreams;
  }

  /** True once the connection, not just a stream of it, is gone. */
  get isLost(): boolean {
    return this.#session.destroyed;
  }

  get error(): Error | undefined {
    return this.#error;
  }

  /** Whether the peer has said that it did not begin this stream. */
  isBelow(streamId: number | undefined): boolean {
    return streamId === undefined || (this.#lastSeenId !== undefined && streamId > this.#lastSeenId);
  }

  /** Throws when the headers cannot be sent. */
  request(headers: OutgoingHttpHeaders, listener: StreamListener): ClientStream {
    checkSendable(headers);
    this.#checkSize(headers);
    const stream = this.#session.request(headers, listener);
    this.#openStreams++;
    this.#lastSentId = stream.id;
    if (stream.id >= LAST_STREAM_ID) this.#retire();
    return stream;
  }

  /** Many peers drop the connection, which others share, for a call with more than they take. */
  #checkSize(headers: OutgoingHttpHeaders): void {
    const bytes = headerBytes(headers);
    if (bytes <= this.#maxHeaderBytes) return;
    throw new GrpcError(
      STATUS.RESOURCE_EXHAUSTED,
      `the server accepts at most ${this.#maxHeaderBytes} bytes of headers and metadata, but the call has ${bytes}`,
    );
  }

  /** Something of a call has come. */
  heard(): void {
    this.#hasAnswered = true;
    this.#keepalive?.heard();
  }

  /** Lets the open streams end. */
  close(): void {
    if (this.#state === 'connecting') this.destroy();
    else this.#session.close();
  }

  destroy(error?: Error): void {
    this.#error ??= error;
    this.#session.destroy();
  }

  #openSocket(address: TargetAddress, tls: ClientTls | undefined): Socket {
    const where =
      address.kind === 'unix' ? { path: address.path } : { host: address.host, port: address.port };
    const socket =
      tls === undefined
        ? connectTcp(where)
        : connectTls({ ...where, ...tlsOptions(tls, address), ALPNProtocols: ['h2'] });
    socket.on('error', (error: Error) => this.failed(error));
    socket.on(tls === undefined ? 'connect' : 'secureConnect', () => this.#connected(socket));
    return socket;
  }

  #connected(socket: Socket): void {
    const { alpnProtocol } = socket as Partial<TLSSocket>;
    if (this.#options.tls === undefined || alpnProtocol === 'h2') this.#session.start();
    else {
      const came = `expected h2 from ALPN, got ${alpnProtocol || 'nothing'}`;
      this.destroy(new Error(`the peer does not use HTTP/2 over TLS: ${came}`));
    }
  }

  failed(error: Error): void {
    this.#error ??= new Error(oneLine(error), { cause: error });
  }

  streamClosed(): void {
    this.#openStreams--;
    this.#listener.hasRoom(this);
  }

  settled({ maxStreams, maxHeaderBytes }: PeerSettings): void {
    this.#maxStreams = maxStreams;
    this.#maxHeaderBytes = maxHeaderBytes;
    if (this.#state === 'connecting') {
      this.#state = 'ready';
      this.#readyAt = this.#options.clock.now();
      this.#clearTimer();
      const { clock, keepaliveMs, keepaliveTimeoutMs } = this.#options;
      this.#keepalive = new Keepalive(this.#session, {
        clock,
        quietMs: QUIET_MS,
        intervalMs: keepaliveMs,
        timeoutMs: keepaliveTimeoutMs,
        // Once it is closed from here no ping can leave, so a peer that never closes its end is found dead, too.
        isWanted: () => this.#openStreams > 0 || this.#session.closed,
        onDead: () =>
          this.destroy(new Error(`the peer did not acknowledge a ping within ${keepaliveTimeoutMs} ms`)),
      });
      this.#listener.ready(this);
    } else {
      this.#listener.hasRoom(this);
    }
  }

  /** Its stream numbers are used up: no new calls, the open ones may end. */
  #retire(): void {
    this.#state = 'leaving';
    this.#session.close();
    this.#listener.leaving(this, false);
  }

  goneAway(code: number, lastStreamId: number, data: Buffer): void {
    const text = data.toString('latin1').slice(0, 200);
    // A graceful peer sends two, the second one lower.
    this.#lastSeenId = Math.min(this.#lastSeenId ?? lastStreamId, lastStreamId);
    if (code !== 0) {
      this.#error ??= new Error(`the peer sent GOAWAY with code ${code}${text === '' ? '' : ` (${text})`}`);
    }
    if (this.#state === 'closed' || this.#state === 'leaving') return;
    const wasConnecting = this.#state === 'connecting';
    this.#state = 'leaving';
    if (wasConnecting) this.destroy(new Error('the peer sent GOAWAY instead of its settings'));
    else this.#listener.leaving(this, code === ENHANCE_YOUR_CALM && text.includes('too_many_pings'));
  }

  closed(): void {
    this.#state = 'closed';
    this.#clearTimer();
    this.#keepalive?.stop();
    this.#listener.closed(this, this.#error ?? new Error('the peer closed the connection'));
  }

  #clearTimer(): void {
    if (this.#timer !== undefined) this.#options.clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }
}

/** Numbers go up by two; one is kept in hand. */
const LAST_STREAM_ID = 2 ** 31 - 3;
/** One ping when a peer falls silent during calls finds a dead one soon, and is not what servers count as abuse. */
const QUIET_MS = 10_000;
/** Connections of less than that, one after another, are a storm. Servers do end older ones that nobody uses. */
const A_WHILE_MS = 200;
const WINDOWS = { streamWindowBytes: 1024 * 1024, connectionWindowBytes: 16 * 1024 * 1024 };
const ENHANCE_YOUR_CALM = 0xb;
