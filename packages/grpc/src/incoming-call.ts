import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import type { CallStream } from './call-stream.js';
import type { GrpcError } from './grpc-error.js';

/** The connection that a call came by. */
export interface CallerConnection {
  /** Unique among the connections of this process. */
  readonly id: string;
  /** The client's address without its port; undefined when it was gone before it could be asked. */
  readonly address: string | undefined;
}

/** A call as a server gets it. Ended by exactly one of `answer`, `fail`, `refuse`, or the caller's going. */
export interface IncomingCall {
  /** `/pkg.Service/Method` */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly connection: CallerConnection;
  /** Of `grpc-timeout`. The layer keeps no time itself: whoever works on the call does. */
  readonly timeoutMs: number | undefined;
  /** For whoever passes the call on as it is, or answers in several messages. Made when it is asked for. */
  readonly stream: CallStream;
  /** Nothing of it is left: its answer has been taken, or never will be. */
  readonly isClosed: boolean;
  /**
   * Reads the one message of a unary call up to the half-close. None, two or a broken one: the call is
   * failed by this layer, and `onGone` is told.
   */
  readUnary(onFrame: (frame: Buffer) => void): void;
  /** One message and status OK. Does nothing when the caller is gone or has been told something already. */
  answer(frame: Buffer, headers?: OutgoingHttpHeaders, trailers?: OutgoingHttpHeaders): void;
  /** A status other than OK, with no message before it; behind the headers, where there are any. */
  fail(error: GrpcError, headers?: OutgoingHttpHeaders): void;
  /** It was not begun, so that the client may begin it again without asking its user. */
  refuse(): void;
  /** Told once when the caller has gone (reset, connection lost) or the layer failed the call, before an answer was given. */
  onGone(listener: () => void): void;
  /** Told once when what was answered has been taken, or never will be. */
  onTaken(listener: () => void): void;
}
