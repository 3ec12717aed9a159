/** A caller without a network. It records its answers. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import {
  type CallerConnection,
  type CallStream,
  frameOf,
  type GrpcError,
  type IncomingCall,
  messageOf,
  STATUS,
} from '@batchwise/grpc';

export interface CallOutcome {
  readonly status: number;
  readonly text: string;
  readonly headers: OutgoingHttpHeaders | undefined;
  readonly error: GrpcError | undefined;
}

export interface CallerOptions {
  readonly path?: string;
  readonly headers?: IncomingHttpHeaders;
  readonly timeoutMs?: number;
  /** The id of its connection. */
  readonly connection?: string;
}

export class FakeCaller implements IncomingCall {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly timeoutMs: number | undefined;
  readonly connection: CallerConnection;
  readonly stream = undefined as unknown as CallStream;
  readonly isClosed = false;
  /** All answers; more than one is a bug. */
  readonly outcomes: CallOutcome[] = [];
  #onFrame: ((frame: Buffer) => void) | undefined = undefined;
  #onGone: (() => void) | undefined = undefined;
  #onTaken: (() => void) | undefined = undefined;
  #isCancelled = false;

  constructor({
    path = '/pkg.Service/Compute',
    headers = {},
    timeoutMs,
    connection = '1',
  }: CallerOptions = {}) {
    this.path = path;
    this.headers = { 'content-type': 'application/grpc', ...headers };
    this.timeoutMs = timeoutMs;
    this.connection = { id: connection, address: '127.0.0.1' };
  }

  /** The first answer. */
  get outcome(): CallOutcome | undefined {
    return this.outcomes[0];
  }

  readUnary(onFrame: (frame: Buffer) => void): void {
    this.#onFrame = onFrame;
  }

  onGone(listener: () => void): void {
    this.#onGone = listener;
  }

  onTaken(listener: () => void): void {
    this.#onTaken = listener;
  }

  answer(frame: Buffer, headers?: OutgoingHttpHeaders): void {
    this.#record({ status: STATUS.OK, text: messageOf(frame).toString(), headers, error: undefined });
  }

  fail(error: GrpcError, headers?: OutgoingHttpHeaders): void {
    this.#record({ status: error.status, text: '', headers, error });
  }

  refuse(): void {
    this.#record({ status: STATUS.UNAVAILABLE, text: '', headers: undefined, error: undefined });
  }

  // The actions of the caller

  sends(text: string, isCompressed = false): this {
    this.#onFrame?.(frameOf(Buffer.from(text), isCompressed));
    return this;
  }

  cancels(): void {
    this.#isCancelled = true;
    this.#onGone?.();
  }

  /** The caller has read its complete answer. */
  closes(): void {
    this.#onTaken?.();
  }

  /** Also records a second answer, so that a test can detect it. A caller that has cancelled gets none. */
  #record(outcome: CallOutcome): void {
    if (!this.#isCancelled) this.outcomes.push(outcome);
  }
}
