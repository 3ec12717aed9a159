/** A client on bare HTTP/2: sends a request in any chunks, and returns the answer unmodified. */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionOptions,
  connect,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { framed, unframed } from './framing.js';

export interface RawAnswer {
  /** The gRPC status from the trailers or a trailers-only answer; -1 if the stream ended without one. */
  readonly status: number;
  readonly message: string;
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
  readonly messages: readonly Buffer[];
  readonly text: string;
  /** The error code of the reset; 0 if there was none. */
  readonly rstCode: number;
}

export interface RawCallOptions {
  readonly path?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Sent instead of the framed message. */
  readonly body?: Buffer;
  /** The positions at which the body is split into chunks: bytes or, below 1, shares of its length. */
  readonly cuts?: readonly number[];
}

export const computePath = '/test.Echo/Compute';
export const batchedPath = '/test.Echo/BatchedCompute';

/** Without TLS. Closed after the current test. */
export function rawClient(port: number, options?: ClientSessionOptions): RawClient {
  const socket = connectTcp(port, '127.0.0.1');
  const session = connect(`http://127.0.0.1:${port}`, { ...options, createConnection: () => socket });
  const client = new RawClient(session, socket);
  onTestFinished(() => client.destroy());
  return client;
}

export class RawClient {
  readonly session: ClientHttp2Session;

  readonly #socket: Socket;

  constructor(session: ClientHttp2Session, socket: Socket) {
    this.session = session;
    this.#socket = socket;
    session.on('error', () => {});
  }

  /** Opens a stream with the headers of a gRPC call, without data. */
  open(headers: OutgoingHttpHeaders = {}, path = computePath): ClientHttp2Stream {
    const stream = this.session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    });
    stream.on('error', () => {});
    return stream;
  }

  async call(message: Uint8Array | string, options: RawCallOptions = {}): Promise<RawAnswer> {
    const { path, headers, body = framed(message), cuts = [] } = options;
    const stream = this.open(headers, path);
    const answer = answerOf(stream);
    const places = cuts.map((cut) => Math.min(Math.floor(cut < 1 ? cut * body.length : cut), body.length));
    const ends = [...places, body.length].sort((a, b) => a - b);
    let start = 0;
    for (const end of ends) {
      const piece = body.subarray(start, end);
      start = end;
      if (stream.destroyed) break;
      // The next chunk is a separate frame only after this one was sent.
      if (piece.length > 0) await new Promise<void>((resolve) => stream.write(piece, () => resolve()));
    }
    stream.end();
    return answer;
  }

  /** Closes the socket without GOAWAY. */
  breakOff(): void {
    this.#socket.destroy();
  }

  /**
   * In a separate event-loop turn: tests call this when an answer arrives, while nghttp2 is reading. Closing the session
   * there corrupts the memory of Node's client if it is still sending another request.
   */
  destroy(): void {
    setImmediate(() => this.session.destroy());
  }
}

export function answerOf(stream: ClientHttp2Stream): Promise<RawAnswer> {
  let headers: IncomingHttpHeaders = {};
  let trailers: IncomingHttpHeaders = {};
  const chunks: Buffer[] = [];
  stream.on('response', (received) => {
    headers = received;
  });
  stream.on('trailers', (received) => {
    trailers = received;
  });
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve, reject) => {
    stream.once('close', () => {
      const last = trailers['grpc-status'] === undefined ? headers : trailers;
      const status = Number(last['grpc-status'] ?? -1);
      let messages: readonly Buffer[] = [];
      try {
        messages = unframed(Buffer.concat(chunks));
      } catch (error) {
        // An aborted answer may end anywhere, and a passed-through answer may have any content.
        if (status === 0) reject(error);
      }
      resolve({
        status,
        message: decoded(String(last['grpc-message'] ?? '')),
        headers,
        trailers: last,
        messages,
        text: String(messages[0] ?? ''),
        rstCode: stream.rstCode ?? constants.NGHTTP2_NO_ERROR,
      });
    });
  });
}

/** Decodes gRPC percent-encoding; invalid sequences stay unchanged. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
