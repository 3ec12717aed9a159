/**
 * A batched gRPC method: one stream per batch, one message per item, answers in the same order. All messages are
 * written, the stream is half-closed, and each answer is delivered when it arrives.
 */
import {
  type CallEnd,
  type CallHandlers,
  frameOf,
  type GrpcError,
  ITEM_ERROR_HEADER,
  isCompressed,
  messageOf,
  type OutgoingCall,
  parseItemErrors,
  STATUS,
} from '@batchwise/grpc';
import { BatchwiseError, type Clock, realClock } from 'batchwise';
import { shownValue } from '../open-inference/shown-value.js';
import { callOptions, GrpcCaller, type GrpcCallerOptions } from './grpc-caller.js';
import { grpcFailure } from './grpc-failure.js';
import { abandoned, answered, type Failure, failed, type Outcome } from './outcome.js';
import { shownUrl } from './upstream-address.js';
import type { FunctionPeer, PeerBatch } from './upstream-peer.js';

export interface StreamPeerOptions extends GrpcCallerOptions {
  readonly url: string;
  /** `/pkg.Service/BatchedCompute` */
  readonly path: string;
  /** Called when the upstream sends more answers than items. */
  readonly log?: ((line: string) => void) | undefined;
}

/** A stream that does not end within this time after the last answer is reset. */
const STREAM_END_TIMEOUT_MS = 5000;

export class StreamPeer implements FunctionPeer {
  readonly place: string;
  readonly #caller: GrpcCaller;
  readonly #path: string;
  readonly #clock: Clock;
  readonly #log: (line: string) => void;

  constructor(options: StreamPeerOptions) {
    const { url, path, clock = realClock, log = () => {} } = options;
    this.place = shownUrl(url);
    this.#path = path;
    this.#clock = clock;
    this.#log = log;
    this.#caller = new GrpcCaller(options);
  }

  /** Checks only the connection: the method has no health check. */
  checkReady(timeoutMs: number): Promise<void> {
    return this.#caller.connected(timeoutMs);
  }

  run({ items, context, timeoutMs }: PeerBatch): Promise<Outcome<undefined>> {
    const { signal } = context;
    if (signal.aborted) return Promise.resolve(abandoned());
    const positions = sendable(items, context);
    if (positions.length === 0) return Promise.resolve(answered(undefined));
    return new Promise((resolve) => {
      const settle = (outcome: Outcome<undefined>) => {
        signal.removeEventListener('abort', onAbort);
        resolve(outcome);
      };
      const stream = new BatchStream(positions, context, this.#clock, settle);
      stream.onSurplus = () =>
        this.#log(
          `${this.place}: got more answers than items for a batch of ${positions.length}; the stream is reset.`,
        );
      const call = this.#caller.channel.call(this.#path, callOptions(timeoutMs), stream);
      stream.call = call;
      const onAbort = () => {
        settle(abandoned());
        call.cancel();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      for (const position of positions) call.write(frameOf(items[position] as Uint8Array));
      call.end();
    });
  }

  onConnectionChange(listener: (error: Error | undefined) => void): void {
    this.#caller.onConnectionChange(listener);
  }

  close(): Promise<void> {
    return this.#caller.close();
  }
}

/** Reads the answers. The batch is complete with the last answer, not with the end of the stream. */
class BatchStream implements CallHandlers {
  call: OutgoingCall | undefined = undefined;
  onSurplus: () => void = () => {};
  readonly #positions: readonly number[];
  readonly #context: PeerBatch['context'];
  readonly #clock: Clock;
  readonly #settle: (outcome: Outcome<undefined>) => void;
  #errors: ReadonlyMap<number, GrpcError> = new Map();
  #answers = 0;
  #timer: unknown = undefined;

  constructor(
    positions: readonly number[],
    context: PeerBatch['context'],
    clock: Clock,
    settle: (outcome: Outcome<undefined>) => void,
  ) {
    this.#positions = positions;
    this.#context = context;
    this.#clock = clock;
    this.#settle = settle;
  }

  onHeaders(headers: Parameters<NonNullable<CallHandlers['onHeaders']>>[0]): void {
    this.#errors = parseItemErrors(headers[ITEM_ERROR_HEADER], this.#positions.length);
  }

  onFrame(frame: Buffer): void {
    const position = this.#positions[this.#answers];
    if (position === undefined) {
      this.onSurplus();
      this.call?.cancel();
      return;
    }
    const error = this.#errors.get(this.#answers);
    this.#answers += 1;
    this.#context.answer(position, error === undefined ? answerOf(frame) : itemError(error));
    if (this.#answers < this.#positions.length) return;
    this.#settle(answered(undefined));
    this.#timer = this.#clock.setTimer(() => this.call?.cancel(), STREAM_END_TIMEOUT_MS);
  }

  onEnd(end: CallEnd): void {
    this.#clock.clearTimer(this.#timer);
    const expected = this.#positions.length;
    // A batch with all answers is already settled.
    if (end.status !== STATUS.OK) this.#settle(this.#failure(end));
    else if (this.#answers < expected) this.#settle(failed(tooFew(this.#answers, expected)));
  }

  #failure(end: CallEnd): Failure {
    return { ...grpcFailure(end), isUnseen: end.isUnseen && this.#answers === 0 };
  }
}

function answerOf(frame: Buffer): Buffer | BatchwiseError {
  if (!isCompressed(frame)) return messageOf(frame);
  const message = 'expected an uncompressed answer, got a compressed one.';
  return new BatchwiseError('BAD_RESULT', message);
}

/**
 * The same error as for the status of a whole batch. An error that would cause bisecting becomes HANDLER_FAILED,
 * because the faulty item is known.
 */
function itemError({ status, message }: GrpcError): BatchwiseError {
  const end = { status, message, trailers: { 'grpc-status': String(status) }, isUnseen: false };
  const { error } = grpcFailure(end);
  return error instanceof BatchwiseError ? error : new BatchwiseError('HANDLER_FAILED', error.message);
}

function tooFew(answers: number, items: number): BatchwiseError {
  return new BatchwiseError('BAD_RESULT', `the stream ended with ${answers} answers for ${items} items.`);
}

/** Returns the positions of the items that are bytes. Other items get their error immediately. */
function sendable(items: readonly unknown[], context: PeerBatch['context']): number[] {
  const positions: number[] = [];
  for (const [index, item] of items.entries()) {
    if (item instanceof Uint8Array) positions.push(index);
    else {
      const message = `expected the bytes of a message, a Uint8Array, got ${shownValue(item)}.`;
      context.answer(index, new BatchwiseError('INVALID_ITEM', message));
    }
  }
  return positions;
}
