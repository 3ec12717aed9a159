import type { Socket } from 'node:net';
import type { Clock } from 'batchwise';
import { unreferenced } from './expiry-line.js';
import type { ReceivedRequest } from './http2/received-request.js';
import { ServerSession, type ServerSessionHost, type ServerSessionListener } from './http2/server-session.js';
import type { ServerStream } from './http2/server-stream.js';
import type { CallerConnection } from './incoming-call.js';
import { Keepalive } from './keepalive.js';
import type { GrpcServerLimits } from './server-limits.js';

/** The server, as its connections see it. */
export interface ServerConnectionHost extends Pick<ServerSessionHost, 'awaitsEnd' | 'endCame'> {
  /** For requests that nobody reads; false when there is no room for more of this connection. */
  hold(connection: ServerConnection, bytes: number): boolean;
  letGo(connection: ServerConnection, bytes: number): void;
  readonly clock: Clock;
  readonly limits: GrpcServerLimits;
  opened(connection: ServerConnection, stream: ServerStream, request: ReceivedRequest): void;
  failed(connection: ServerConnection, error: Error): void;
  closed(connection: ServerConnection): void;
}

/** One client's connection: its handshake, its keepalive, its graceful end. */
export class ServerConnection implements ServerSessionListener, CallerConnection {
  readonly id = String(++connections);
  readonly address: string | undefined;
  /** Its address; undefined when it was gone before it could be asked. */
  readonly peer: string | undefined;
  readonly #host: ServerConnectionHost;
  readonly #socket: Socket;
  readonly #session: ServerSession;
  #keepalive: Keepalive | undefined;
  #timer: unknown;

  constructor(socket: Socket, host: ServerConnectionHost) {
    const { clock, limits } = host;
    this.peer = peerOf(socket);
    this.address = socket.remoteAddress;
    this.#host = host;
    this.#socket = socket;
    this.#session = new ServerSession(
      socket,
      {
        streamWindowBytes: STREAM_WINDOW_BYTES,
        connectionWindowBytes: CONNECTION_WINDOW_BYTES,
        maxStreams: limits.maxConcurrentStreams,
        maxHeaderBytes: limits.maxHeaderBytes,
        maxUnwantedBytes: limits.maxMessageBytes + STREAM_WINDOW_BYTES,
        now: () => clock.now(),
      },
      {
        hold: (bytes) => host.hold(this, bytes),
        letGo: (bytes) => host.letGo(this, bytes),
        awaitsEnd: (stream) => host.awaitsEnd(stream),
        endCame: (stream) => host.endCame(stream),
      },
      this,
    );
    this.#setTimer(() => this.destroy(), limits.handshakeMs);
  }

  /** Calls that are open may end, and then the connection does. */
  drain(): void {
    if (this.#keepalive === undefined) this.destroy();
    else this.#session.close();
  }

  /** Something suggests that the client is dead: a ping now, whenever the next one would have been. */
  probe(): void {
    this.#keepalive?.probe();
  }

  /** Now; a client that reads on hears why. */
  destroy(): void {
    this.#session.destroy();
    setImmediate(() => setImmediate(() => this.#socket.destroy()));
  }

  greeted(): void {
    const { clock, limits } = this.#host;
    this.#clearTimer();
    this.#keepalive = new Keepalive(this.#session, {
      clock,
      quietMs: limits.quietMs,
      intervalMs: limits.keepaliveMs,
      timeoutMs: limits.keepaliveTimeoutMs,
      isWanted: () => true,
      onDead: () => this.destroy(),
    });
  }

  opened(stream: ServerStream, request: ReceivedRequest): void {
    this.#keepalive?.heard();
    this.#host.opened(this, stream, request);
  }

  failed(error: Error): void {
    this.#host.failed(this, error);
  }

  /** Closed at once, it would lose what it has not read yet; waited for without end, it would never be closed. */
  left(isGraceful: boolean): void {
    const { keepaliveTimeoutMs } = this.#host.limits;
    this.#keepalive?.stop();
    const waitMs = isGraceful ? keepaliveTimeoutMs : Math.min(keepaliveTimeoutMs, LAST_WORDS_MS);
    this.#setTimer(() => this.#socket.destroy(), waitMs);
  }

  closed(): void {
    this.#clearTimer();
    this.#keepalive?.stop();
    this.#host.closed(this);
  }

  #setTimer(callback: () => void, delayMs: number): void {
    this.#clearTimer();
    this.#timer = unreferenced(this.#host.clock.setTimer(callback, delayMs));
  }

  #clearTimer(): void {
    if (this.#timer !== undefined) this.#host.clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }
}

let connections = 0;

/** Room for one message of usual size without waiting for window updates. */
const STREAM_WINDOW_BYTES = 1024 * 1024;
/** Shared by all calls of a connection; each has its own smaller one. */
const CONNECTION_WINDOW_BYTES = 8 * 1024 * 1024;
/** For a client to read why its connection was ended. */
const LAST_WORDS_MS = 1000;

/** `address:port` of the other end. */
export function peerOf({ remoteAddress, remotePort }: Socket): string | undefined {
  if (remoteAddress === undefined) return undefined;
  return `${remoteAddress.includes(':') ? `[${remoteAddress}]` : remoteAddress}:${remotePort}`;
}
