import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock } from 'batchwise';
import { deferDestroy } from './defer-destroy.js';
import { unreferenced } from './expiry-line.js';
import { Keepalive } from './keepalive.js';
import type { GrpcServerLimits } from './server-limits.js';

/** One client's connection: its handshake, its keepalive, its graceful end. */
export class ServerSession {
  /** Its address; undefined when it was gone before it could be asked. */
  readonly peer: string | undefined;
  readonly #session: ServerHttp2Session;
  readonly #clock: Clock;
  readonly #limits: GrpcServerLimits;
  #keepalive: Keepalive | undefined;
  #timer: unknown;

  constructor(
    session: ServerHttp2Session,
    socket: Socket,
    clock: Clock,
    limits: GrpcServerLimits,
    onClosed: () => void,
  ) {
    this.peer = peerOf(socket);
    this.#session = session;
    this.#clock = clock;
    this.#limits = limits;
    deferDestroy(session, (isGraceful) => {
      this.#stop();
      if (!isGraceful) dropSoon(socket);
    });
    session.on('error', nothing);
    session.on('close', () => {
      this.#stop();
      onClosed();
    });
    session.once('remoteSettings', () => this.#greeted());
    this.#timer = unreferenced(clock.setTimer(() => session.destroy(), limits.handshakeMs));
    if (!session.destroyed) session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
  }

  /**
   * GOAWAY with the number of the last call that is served; those above it the client knows never to have begun.
   * A first GOAWAY that only asks for no more calls would lose some: nghttp2 ignores new streams from the first one on.
   */
  drain(): void {
    const session = this.#session;
    if (session.destroyed || session.closed) return;
    if (this.#keepalive === undefined) session.destroy();
    else session.close();
  }

  /** A call came. */
  heard(): void {
    this.#keepalive?.heard();
  }

  /** Something suggests that the client is dead: a ping now, whenever the next one would have been. */
  probe(): void {
    this.#keepalive?.probe();
  }

  destroy(): void {
    this.#session.destroy();
  }

  #greeted(): void {
    this.#clearTimer();
    if (this.#session.destroyed) return;
    this.#keepalive = new Keepalive(this.#session, {
      clock: this.#clock,
      quietMs: this.#limits.quietMs,
      intervalMs: this.#limits.keepaliveMs,
      timeoutMs: this.#limits.keepaliveTimeoutMs,
      isWanted: () => true,
      onDead: () => this.#session.destroy(),
    });
  }

  #stop(): void {
    this.#clearTimer();
    this.#keepalive?.stop();
  }

  #clearTimer(): void {
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }
}

/** Shared by all calls of a connection; each has its own smaller one. */
const CONNECTION_WINDOW_BYTES = 8 * 1024 * 1024;

function nothing(): void {}

/** `address:port` of the other end. */
export function peerOf({ remoteAddress, remotePort }: Socket): string | undefined {
  if (remoteAddress === undefined) return undefined;
  return `${remoteAddress.includes(':') ? `[${remoteAddress}]` : remoteAddress}:${remotePort}`;
}

/** Node leaves the socket of a session that failed open until its client closes it, and does not always notice that. */
function dropSoon(socket: Socket): void {
  // After the session's last words, which say why.
  setImmediate(() => setImmediate(() => socket.destroy()));
}
