import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import type { GrpcError } from './grpc-error.js';
import type { StatusCode } from './status.js';

/** How a call ended. */
export interface CallEnd {
  readonly status: StatusCode;
  readonly message: string;
  /** All that came at the end, `grpc-status` included; {} when none came. */
  readonly trailers: IncomingHttpHeaders;
  /**
   * True when the peer certainly did not begin the call: never sent, REFUSED_STREAM, GOAWAY below it. Safe
   * to send again.
   */
  readonly isUnseen: boolean;
  readonly cause?: Error;
}

export interface CallHandlers {
  onHeaders?(headers: IncomingHttpHeaders): void;
  onFrame(frame: Buffer): void;
  /**
   * Instead of the frame of a message above `maxMessageBytes`, and the call goes on. Without it such a one ends the call;
   * and one beyond all measure does so in any case.
   */
  onTooLarge?(error: GrpcError): void;
  /** Exactly once, never before `call()` has returned; nothing follows it. */
  onEnd(end: CallEnd): void;
}

export interface CallOptions {
  /** Sent as `grpc-timeout`, and kept here too. */
  readonly timeoutMs?: number | undefined;
  readonly metadata?: OutgoingHttpHeaders | undefined;
  /** `grpc-encoding`: how the frames that are flagged as compressed are compressed. */
  readonly encoding?: string | undefined;
  /** `grpc-accept-encoding`. */
  readonly acceptEncoding?: string | undefined;
  /** @default 'application/grpc' */
  readonly contentType?: string | undefined;
  /** @default 4 MiB */
  readonly maxMessageBytes?: number | undefined;
}

export interface OutgoingCall {
  /** False when the peer's window is full and more should wait for `onDrain`. */
  write(frame: Buffer): boolean;
  /** Half-close: no more messages after this one, which travels with the half-close in one piece. */
  end(last?: Buffer): void;
  /** RST_STREAM with CANCEL; the call ends as CANCELLED. */
  cancel(): void;
  onDrain(callback: () => void): void;
  /** No further frames until `resume`: what the peer sends waits, and then the peer does. */
  pause(): void;
  resume(): void;
}
