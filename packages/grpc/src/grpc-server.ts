import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import { createSecureServer, createServer, type Http2SecureServer, type Http2Server } from 'node:http2';
import type { Socket } from 'node:net';
import { type Clock, realClock } from 'batchwise';
import { AnswersOnTheWay } from './answers-on-the-way.js';
import { destroyWhenReset } from './destroy-when-reset.js';
import { unreferenced } from './expiry-line.js';
import { GrpcError } from './grpc-error.js';
import type { IncomingCall } from './incoming-call.js';
import { limitedLog } from './limited-log.js';
import { oneLine } from './one-line.js';
import { refusalOf } from './refused-request.js';
import { ServerCall, type ServerCallHost } from './server-call.js';
import { type GrpcServerLimits, serverLimits } from './server-limits.js';
import { peerOf, ServerSession } from './server-session.js';
import { STATUS } from './status.js';
import { parseTimeout } from './timeout.js';
import { UnfinishedRequests } from './unary-request.js';

/** PEM texts. With `clientCa` a client must show a certificate of that authority (mutual TLS). */
export interface ServerTls {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  readonly clientCa?: string | Buffer | undefined;
}

export interface GrpcServerOptions {
  /** Every call, whatever its path. May not throw; if it does, that call fails with INTERNAL. */
  onCall(call: IncomingCall): void;
  /** Without it the server speaks HTTP/2 in clear text (h2c). */
  readonly tls?: ServerTls | undefined;
  readonly limits?: Partial<GrpcServerLimits> | undefined;
  readonly clock?: Clock | undefined;
  log?(line: string): void;
}

/** gRPC's side of HTTP/2 for a server: it hands out calls in bytes and never looks into a message. */
export class GrpcServer {
  readonly limits: GrpcServerLimits;
  readonly #options: GrpcServerOptions;
  readonly #clock: Clock;
  readonly #server: Http2Server | Http2SecureServer;
  readonly #sessions = new Map<ServerHttp2Session, ServerSession>();
  readonly #sockets = new Set<Socket>();
  readonly #host: ServerCallHost;
  readonly #log: (line: string) => void;
  readonly #whenSettled: (() => void)[] = [];
  /** That which is about to become a session. */
  #arriving: Socket | undefined;
  readonly #calls = new Set<ServerCall>();
  #isClosing = false;

  constructor(options: GrpcServerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? realClock;
    this.limits = serverLimits(options.limits);
    this.#log = limitedLog(this.#clock, (line) => options.log?.(line));
    this.#host = this.#callHost();
    this.#server = this.#makeServer();
  }

  get openCalls(): number {
    return this.#calls.size;
  }

  get openConnections(): number {
    return this.#sessions.size;
  }

  listen({ host, port }: { host: string; port: number }): Promise<{ host: string; port: number }> {
    const server = this.#server;
    return new Promise((resolve, reject) => {
      const failed = (error: NodeJS.ErrnoException) => reject(listenError(error, host, port));
      server.once('error', failed);
      server.listen({ host, port }, () => {
        server.removeListener('error', failed);
        const address = server.address();
        resolve(
          typeof address === 'object' && address !== null
            ? { host: address.address, port: address.port }
            : { host, port },
        );
      });
    });
  }

  /** GOAWAY to every client, open calls may end; after `timeoutMs`, or when all have ended, everything is destroyed. */
  close({ timeoutMs }: { timeoutMs?: number } = {}): Promise<void> {
    return new Promise((resolve) => {
      let timer: unknown;
      this.#whenSettled.push(() => {
        if (timer !== undefined) this.#clock.clearTimer(timer);
        resolve();
      });
      if (timeoutMs !== undefined)
        timer = unreferenced(this.#clock.setTimer(() => this.destroy(), timeoutMs));
      if (!this.#isClosing) {
        this.#isClosing = true;
        if (this.#server.listening) this.#server.close();
        for (const session of this.#sessions.values()) session.drain();
      }
      this.#settleWhenEmpty();
    });
  }

  /** Every call that has heard nothing yet hears this, and whoever works on it that it is gone. */
  failOpenCalls(error: GrpcError): void {
    for (const call of [...this.#calls]) if (!call.stream.headersSent) call.failHere(error);
  }

  /** Everything ends now; whoever waits is told that the connection is lost. */
  destroy(): void {
    this.#isClosing = true;
    if (this.#server.listening) this.#server.close();
    for (const session of [...this.#sessions.values()]) session.destroy();
    // Those that have not become a session; later, because a session must not lose its socket while it reads.
    setImmediate(() => {
      for (const socket of this.#sockets) socket.destroy();
    });
    this.#host.requests.line.clear();
    this.#host.answers.line.clear();
    this.#settleWhenEmpty();
  }

  #makeServer(): Http2Server | Http2SecureServer {
    const { tls } = this.#options;
    const { limits } = this;
    const options = {
      settings: {
        maxConcurrentStreams: limits.maxConcurrentStreams,
        maxHeaderListSize: limits.maxHeaderBytes,
        initialWindowSize: STREAM_WINDOW_BYTES,
        enablePush: false,
      },
      maxSessionMemory: SESSION_MEMORY_MB,
      maxHeaderListPairs: MAX_HEADER_PAIRS,
      maxOutstandingPings: MAX_OUTSTANDING_PINGS,
      maxSessionInvalidFrames: MAX_INVALID_FRAMES,
      unknownProtocolTimeout: limits.handshakeMs,
    };
    const server =
      tls === undefined
        ? createServer(options)
        : createSecureServer({
            ...options,
            cert: tls.cert,
            key: tls.key,
            ALPNProtocols: ['h2'],
            handshakeTimeout: limits.handshakeMs,
            minVersion: 'TLSv1.2',
            ...(tls.clientCa !== undefined
              ? { ca: tls.clientCa, requestCert: true, rejectUnauthorized: true }
              : {}),
          });
    server.maxConnections = limits.maxConnections;
    // Node's own two minutes of idleness are not gRPC's: keepalive decides.
    server.setTimeout(0);
    server.on('session', (session: ServerHttp2Session) => this.#opened(session));
    server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) =>
      this.#received(stream, headers),
    );
    server.on('sessionError', (error: Error, session?: ServerHttp2Session) => {
      const peer = session === undefined ? undefined : this.#sessions.get(session)?.peer;
      this.#log(`the connection of ${peer ?? 'a client'} failed: ${oneLine(error)}`);
    });
    // Once for each handshake that fails; 'tlsClientError' is the same again.
    server.on('clientError', (error: Error, socket: WrappedSocket) => {
      const peer = peerOf(socket) ?? (socket._parent && peerOf(socket._parent));
      this.#log(`the TLS handshake with ${peer ?? 'a client'} failed: ${oneLine(error)}`);
      socket.destroy();
    });
    // Sockets can fail before they become a session; without a listener that would end the process.
    server.on('connection', (socket: Socket) => {
      socket.on('error', nothing);
      // Asked now, it can still tell when it is closed.
      peerOf(socket);
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    server.on('secureConnection', (socket: Socket) => socket.on('error', nothing));
    // Before Node's own listener, which makes it a session.
    server.prependListener(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
      this.#arriving = socket;
    });
    server.on('unknownProtocol', (socket: Socket) => socket.destroy());
    server.on('error', (error: Error) => {
      // Who wanted it to listen is told if it cannot.
      if (server.listening) this.#log(`the server failed: ${error.message}`);
    });
    return server;
  }

  #opened(session: ServerHttp2Session): void {
    const socket = this.#arriving as Socket;
    this.#arriving = undefined;
    const opened = new ServerSession(session, socket, this.#clock, this.limits, () => {
      this.#sessions.delete(session);
      this.#settleWhenEmpty();
    });
    this.#sessions.set(session, opened);
    if (this.#isClosing) opened.drain();
  }

  #received(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    stream.on('error', nothing);
    const session = stream.session as ServerHttp2Session | undefined;
    if (stream.destroyed || session === undefined) return;
    destroyWhenReset(stream);
    this.#sessions.get(session)?.heard();
    const timeout = headers['grpc-timeout'];
    const timeoutMs = timeout === undefined ? undefined : parseTimeout(String(timeout));
    const refusal = refusalOf(headers, timeoutMs, this.limits.maxHeaderBytes);
    if (refusal !== undefined) {
      stream.respond(refusal, { endStream: true });
      stream.resume();
      stream.close(NO_ERROR);
      return;
    }
    const call = new ServerCall(this.#host, stream, headers, timeoutMs);
    this.#calls.add(call);
    try {
      this.#options.onCall(call);
    } catch (error) {
      this.#log(`onCall threw: ${error instanceof Error ? error.stack : String(error)}`);
      call.failHere(new GrpcError(STATUS.INTERNAL, 'the call could not be handled'));
    }
  }

  #callHost(): ServerCallHost {
    return {
      requests: new UnfinishedRequests(this.#clock, this.limits),
      answers: new AnswersOnTheWay(this.#clock, this.limits),
      closed: (call) => this.#calls.delete(call),
      untaken: ({ stream }) => {
        const session = stream.session as ServerHttp2Session | undefined;
        if (session !== undefined) this.#sessions.get(session)?.probe();
      },
    };
  }

  #settleWhenEmpty(): void {
    if (!this.#isClosing || this.#sessions.size > 0) return;
    this.#host.requests.line.clear();
    this.#host.answers.line.clear();
    for (const settled of this.#whenSettled.splice(0)) settled();
  }
}

/** Node's name for the socket below TLS, which is not public: only a log depends on it. */
type WrappedSocket = Socket & { readonly _parent?: Socket };

/** Room for one message of usual size without waiting for the peer's window updates. */
const STREAM_WINDOW_BYTES = 1024 * 1024;
/** Node refuses further streams of a connection that holds more than this. */
const SESSION_MEMORY_MB = 64;
const NO_ERROR = 0;
const MAX_HEADER_PAIRS = 128;
const MAX_OUTSTANDING_PINGS = 10;
const MAX_INVALID_FRAMES = 100;

function nothing(): void {}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === 'EADDRINUSE') {
    return new Error(
      `port ${port} of ${host} is in use already; choose another one, or 0 for any that is free`,
      {
        cause: error,
      },
    );
  }
  return new Error(`cannot listen on ${host}:${port}: ${error.message}`, { cause: error });
}
