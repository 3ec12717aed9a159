import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type OutgoingHttpHeaders,
  type Settings,
} from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { Clock } from 'batchwise';
import type { ClientTls } from './channel-options.js';
import { tlsOptions } from './client-tls.js';
import { deferDestroy } from './defer-destroy.js';
import { destroyWhenRead } from './destroy-when-reset.js';
import { unreferenced } from './expiry-line.js';
import { GrpcError } from './grpc-error.js';
import { headerBytes } from './header-bytes.js';
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
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #listener: ConnectionListener;
  readonly #session: ClientHttp2Session;
  #socket: Socket | undefined;
  #keepalive: Keepalive | undefined;
  #timer: unknown;
  #state: 'connecting' | 'ready' | 'leaving' | 'closed' = 'connecting';
  #openStreams = 0;
  #maxStreams = 0;
  #maxHeaderBytes = Number.POSITIVE_INFINITY;
  /** Destroyed, or about to be: its end is told a little later. */
  #isDoomed = false;
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
    this.#session = connect(`${tls === undefined ? 'http' : 'https'}://${URL_HOST}`, {
      createConnection: () => this.#openSocket(address, tls),
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
      maxSessionMemory: SESSION_MEMORY_MB,
      maxHeaderListPairs: MAX_HEADER_PAIRS,
    });
    this.#listen();
  }

  get isReady(): boolean {
    return this.#state === 'ready' && !this.#isDoomed && !this.#session.destroyed && !this.#session.closed;
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

  get target(): string {
    return this.#options.target;
  }

  get openStreams(): number {
    return this.#openStreams;
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
  request(headers: OutgoingHttpHeaders): ClientHttp2Stream {
    checkSendable(headers);
    this.#checkSize(headers);
    const stream = this.#session.request(headers, REQUEST);
    stream.on('error', nothing);
    destroyWhenRead(stream);
    this.#openStreams++;
    this.#lastSentId = stream.id ?? 0;
    if (this.#lastSentId >= LAST_STREAM_ID) this.#retire();
    stream.on('close', () => {
      this.#openStreams--;
      // Not at once when it begins to leave: a GOAWAY would overtake the last call.
      if (this.#state === 'leaving' && this.#openStreams === 0) this.#session.close();
      this.#listener.hasRoom(this);
    });
    return stream;
  }

  /** Many peers drop the connection, which others share, for a call with more than they take. */
  #checkSize(headers: OutgoingHttpHeaders): void {
    const bytes = headerBytes(headers);
    if (bytes <= this.#maxHeaderBytes) return;
    throw new GrpcError(
      STATUS.RESOURCE_EXHAUSTED,
      `${this.target} takes up to ${this.#maxHeaderBytes} bytes of headers and metadata, but the call has ${bytes}`,
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
    else if (!this.#session.closed) this.#session.close();
  }

  destroy(error?: Error): void {
    this.#error ??= error;
    this.#session.destroy();
    this.#dropSocket();
  }

  /** A session waits for its last bytes to be written, for ever if the peer takes none: so the socket goes, too. */
  #dropSocket(): void {
    setImmediate(() => setImmediate(() => this.#socket?.destroy()));
  }

  #listen(): void {
    const session = this.#session;
    deferDestroy(session, (isGraceful) => {
      this.#isDoomed = true;
      if (!isGraceful) this.#dropSocket();
    });
    session.on('error', (error: Error) => this.#failed(error));
    session.on('connect', (_session, socket) => {
      const { alpnProtocol } = socket as Partial<TLSSocket>;
      if (this.#options.tls !== undefined && alpnProtocol !== 'h2') {
        this.destroy(
          new Error(
            `the peer does not speak HTTP/2 over TLS: ALPN gave ${alpnProtocol || 'nothing'}, expected h2`,
          ),
        );
        return;
      }
      if (!session.destroyed) session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    });
    session.on('remoteSettings', (settings) => this.#gotSettings(settings));
    session.on('goaway', (code: number, lastStreamId: number, data?: Uint8Array) =>
      this.#goneAway(code, lastStreamId, data),
    );
    session.on('close', () => this.#closed());
  }

  #openSocket(address: TargetAddress, tls: ClientTls | undefined): Socket {
    const where =
      address.kind === 'unix' ? { path: address.path } : { host: address.host, port: address.port };
    const socket =
      tls === undefined
        ? connectTcp(where)
        : connectTls({ ...where, ...tlsOptions(tls, address), ALPNProtocols: ['h2'] });
    // Its errors come again from the session, but not all of them once the session is gone.
    socket.on('error', (error: Error) => this.#failed(error));
    this.#socket = socket;
    return socket;
  }

  #failed(error: Error): void {
    this.#error ??= new Error(oneLine(error), { cause: error });
  }

  #gotSettings({ maxConcurrentStreams, maxHeaderListSize }: Settings): void {
    this.#maxStreams = maxConcurrentStreams ?? Number.POSITIVE_INFINITY;
    this.#maxHeaderBytes = maxHeaderListSize ?? Number.POSITIVE_INFINITY;
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
        isWanted: () => this.#openStreams > 0,
        onDead: () =>
          this.destroy(new Error(`the peer did not answer a ping within ${keepaliveTimeoutMs} ms`)),
      });
      this.#listener.ready(this);
    } else {
      this.#listener.hasRoom(this);
    }
  }

  /** Its stream numbers are used up: no new calls, the open ones may end. */
  #retire(): void {
    this.#state = 'leaving';
    this.#listener.leaving(this, false);
  }

  #goneAway(code: number, lastStreamId: number, data: Uint8Array | undefined): void {
    const text = data === undefined ? '' : Buffer.from(data).toString('latin1').slice(0, 200);
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

  #closed(): void {
    if (this.#state === 'closed') return;
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

/** Only the scheme counts: every request names its own `:authority`, and the socket is made here. */
const URL_HOST = 'localhost';
/** Numbers go up by two; one is kept in hand. */
const LAST_STREAM_ID = 2 ** 31 - 3;
const REQUEST = { endStream: false } as const;
/** One ping when a peer falls silent during calls finds a dead one soon, and is not what servers count as abuse. */
const QUIET_MS = 10_000;
/** Connections of less than that, one after another, are a storm. */
const A_WHILE_MS = 1000;
const STREAM_WINDOW_BYTES = 1024 * 1024;
const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;
const SESSION_MEMORY_MB = 256;
const MAX_HEADER_PAIRS = 256;
const ENHANCE_YOUR_CALM = 0xb;

function nothing(): void {}
