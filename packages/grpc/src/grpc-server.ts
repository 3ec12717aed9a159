import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { type Clock, realClock } from 'batchwise';
import { AnswersOnTheWay } from './answers-on-the-way.js';
import { unreferenced } from './expiry-line.js';
import { GrpcError } from './grpc-error.js';
import { responseFields } from './http2/header-fields.js';
import type { ReceivedRequest } from './http2/received-request.js';
import type { ServerStream } from './http2/server-stream.js';
import type { IncomingCall } from './incoming-call.js';
import { limitedLog } from './limited-log.js';
import { oneLine } from './one-line.js';
import { refusalOf } from './refused-request.js';
import { ServerCall, type ServerCallHost } from './server-call.js';
import { peerOf, ServerConnection, type ServerConnectionHost } from './server-connection.js';
import { type GrpcServerLimits, serverLimits } from './server-limits.js';
import { STATUS } from './status.js';
import { parseTimeout } from './timeout.js';
import { UnfinishedRequests } from './unary-request.js';

/** PEM texts. With `clientCa`, clients must present a certificate of that authority (mutual TLS). */
export interface ServerTls {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  readonly clientCa?: string | Buffer | undefined;
}

export interface GrpcServerOptions {
  /** Called for every call, whatever its path. If it throws, the call fails with INTERNAL. */
  onCall(call: IncomingCall): void;
  /** Without TLS options the server uses HTTP/2 in clear text (h2c). */
  readonly tls?: ServerTls | undefined;
  readonly limits?: Partial<GrpcServerLimits> | undefined;
  readonly clock?: Clock | undefined;
  log?(line: string): void;
}

/** A gRPC server on HTTP/2 whose messages are bytes. */
export class GrpcServer {
  readonly limits: GrpcServerLimits;
  readonly #options: GrpcServerOptions;
  readonly #clock: Clock;
  readonly #server: Server;
  readonly #connections = new Set<ServerConnection>();
  readonly #sockets = new Set<Socket>();
  readonly #callHost: ServerCallHost;
  readonly #connectionHost: ServerConnectionHost;
  readonly #log: (line: string) => void;
  readonly #whenSettled: (() => void)[] = [];
  readonly #calls = new Set<ServerCall>();
  #isClosing = false;

  constructor(options: GrpcServerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? realClock;
    this.limits = serverLimits(options.limits);
    this.#log = limitedLog(this.#clock, (line) => options.log?.(line));
    this.#callHost = {
      requests: new UnfinishedRequests(this.#clock, this.limits),
      answers: new AnswersOnTheWay(this.#clock, this.limits),
      closed: (call) => this.#calls.delete(call),
    };
    this.#connectionHost = this.#hostOfConnections();
    this.#server = this.#makeServer();
  }

  get openCalls(): number {
    return this.#calls.size;
  }

  get openConnections(): number {
    return this.#connections.size;
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

  /** Sends GOAWAY to every client and waits for open calls; after `timeoutMs` the rest is destroyed. */
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
        for (const connection of [...this.#connections]) connection.drain();
      }
      this.#settleWhenEmpty();
    });
  }

  /** Fails all open calls without a response with this status; their handlers are notified. */
  failOpenCalls(error: GrpcError): void {
    for (const call of [...this.#calls]) if (!call.headersSent) call.failHere(error);
  }

  /** Closes all connections now. */
  destroy(): void {
    this.#isClosing = true;
    if (this.#server.listening) this.#server.close();
    for (const connection of [...this.#connections]) connection.destroy();
    // Those that have not become one, too; after the last words of the others, which say why.
    setImmediate(() =>
      setImmediate(() => {
        for (const socket of this.#sockets) socket.destroy();
      }),
    );
    this.#settleWhenEmpty();
  }

  #makeServer(): Server {
    const { tls } = this.#options;
    const { limits } = this;
    const server =
      tls === undefined
        ? createTcpServer({ noDelay: true })
        : createTlsServer({
            noDelay: true,
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
    server.on('connection', (socket: Socket) => {
      // Sockets can fail before they become a connection; without a listener that would end the process.
      socket.on('error', nothing);
      // Asked now, it can still tell when it is closed.
      peerOf(socket);
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      if (tls === undefined) this.#connected(socket);
    });
    server.on('secureConnection', (socket: TLSSocket) => {
      socket.on('error', nothing);
      if (socket.alpnProtocol === 'h2') this.#connected(socket);
      else socket.destroy();
    });
    server.on('tlsClientError', (error: Error, socket: WrappedSocket) => {
      const peer = peerOf(socket) ?? (socket._parent && peerOf(socket._parent));
      this.#log(`the TLS handshake with ${peer ?? 'a client'} failed: ${oneLine(error)}`);
      socket.destroy();
    });
    server.on('error', (error: Error) => {
      // Who wanted it to listen is told if it cannot.
      if (server.listening) this.#log(`the server failed: ${error.message}`);
    });
    return server;
  }

  #hostOfConnections(): ServerConnectionHost {
    const { requests } = this.#callHost;
    return {
      clock: this.#clock,
      limits: this.limits,
      hold: (connection, bytes) => requests.tryHold(connection, bytes),
      letGo: (connection, bytes) => requests.letGo(connection, bytes),
      awaitsEnd: (stream) => requests.unwantedLine.join(stream),
      endCame: (stream) => requests.unwantedLine.leave(stream),
      opened: (connection, stream, request) => this.#received(connection, stream, request),
      failed: ({ peer }, error) =>
        this.#log(`the connection of ${peer ?? 'a client'} failed: ${oneLine(error)}`),
      closed: (connection) => {
        this.#connections.delete(connection);
        this.#settleWhenEmpty();
      },
    };
  }

  #connected(socket: Socket): void {
    if (this.#isClosing || socket.destroyed) {
      socket.destroy();
      return;
    }
    this.#connections.add(new ServerConnection(socket, this.#connectionHost));
  }

  #received(connection: ServerConnection, stream: ServerStream, { headers, bytes }: ReceivedRequest): void {
    const timeout = headers['grpc-timeout'];
    const timeoutMs = timeout === undefined ? undefined : parseTimeout(String(timeout));
    const refusal = refusalOf(headers, bytes, timeoutMs, this.limits.maxHeaderBytes);
    if (refusal !== undefined) {
      stream.respond(responseFields(refusal), true);
      return;
    }
    const call = new ServerCall(this.#callHost, connection, stream, headers, timeoutMs);
    this.#calls.add(call);
    try {
      this.#options.onCall(call);
    } catch (error) {
      this.#log(`onCall threw: ${error instanceof Error ? error.stack : String(error)}`);
      call.failHere(new GrpcError(STATUS.INTERNAL, 'the call could not be handled'));
    }
  }

  #settleWhenEmpty(): void {
    if (!this.#isClosing || this.#connections.size > 0) return;
    this.#callHost.requests.clear();
    this.#callHost.answers.line.clear();
    for (const settled of this.#whenSettled.splice(0)) settled();
  }
}

/** Node's name for the socket below TLS, which is not public: only a log depends on it. */
type WrappedSocket = Socket & { readonly _parent?: Socket };

function nothing(): void {}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === 'EADDRINUSE') {
    return new Error(`port ${port} of ${host} is already in use; choose another port (0 for any free port)`, {
      cause: error,
    });
  }
  return new Error(`cannot listen on ${host}:${port}: ${error.message}`, { cause: error });
}
