/**
 * One batch on its backend: sends the items as the messages of one stream, and answers each caller when the corresponding
 * answer arrives. However the stream ends, every caller gets exactly one answer. The returned promise holds the slot.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import {
  type CallEnd,
  type CallHandlers,
  GrpcError,
  ITEM_ERROR_HEADER,
  metadataOf,
  type OutgoingCall,
  parseItemErrors,
  STATUS,
} from '@batchwise/grpc';
import { type BatchContext, BatchwiseError, type Clock, type Results } from 'batchwise';
import type { Backend } from '../backends/backend.js';
import { isBackendFailure, isSentByBackend, streamEndError, tooFewAnswers } from '../grpc-errors.js';
import { callOptionsOf, joinedFrames } from './batch-request.js';
import type { OpenStreamEnds } from './open-stream-ends.js';
import type { ProxyItem } from './proxy-item.js';

/** The context shared by all batches of a method. */
export interface BatchRoute {
  readonly path: string;
  readonly batchedPath: string;
  readonly maxMessageBytes: number;
  readonly openStreamEnds: OpenStreamEnds;
  readonly clock: Clock;
  readonly log: (line: string) => void;
  /** Called with the service time of a batch whose items were all answered. */
  onCompleted(durationMs: number): void;
  /** Called before the core returns the unanswered items of a batch that was not started to the queue. */
  onNotStarted(items: readonly ProxyItem[]): void;
}

export class BatchStream implements CallHandlers {
  readonly #route: BatchRoute;
  readonly #backend: Backend;
  /** The items of the stream, in order. */
  readonly #items: readonly ProxyItem[];
  readonly #context: BatchContext;
  readonly #startedAt: number;
  /** Callers without an answer. */
  #unanswered: number;
  #isFinished = false;
  #resolve: (results: Results<never>) => void = () => {};
  #reject: (error: BatchwiseError) => void = () => {};
  #call: OutgoingCall | undefined = undefined;
  #written = 0;
  #received = 0;
  #surplus = 0;
  #answerHeaders: OutgoingHttpHeaders | undefined = undefined;

  constructor(route: BatchRoute, backend: Backend, items: readonly ProxyItem[], context: BatchContext) {
    this.#route = route;
    this.#backend = backend;
    this.#items = items;
    this.#context = context;
    this.#startedAt = route.clock.now();
    this.#unanswered = items.length;
    items.forEach((item, index) => {
      item.index = index;
    });
  }

  /**
   * Settles when the backend is free: after the last answer, after a failure, or after the expected service time of a
   * batch that all callers have cancelled. Rejects if the backend failed.
   */
  send(): Promise<Results<never>> {
    const { batchedPath, maxMessageBytes, log } = this.#route;
    const backend = this.#backend;
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#context.onGone(() => this.#callerGone());
      backend.metrics?.batchSent();
      try {
        const options = callOptionsOf(this.#items, maxMessageBytes, this.#startedAt);
        this.#call = backend.channel.call(batchedPath, options, this);
        this.#writeRest();
      } catch (cause) {
        // For example invalid metadata.
        log(`a batch of ${batchedPath} cannot be sent to ${backend.target}: ${cause}`);
        this.#failRest(new GrpcError(STATUS.INTERNAL, 'The call cannot be sent to the backend.', { cause }));
        this.#call?.cancel();
      }
    });
  }

  onHeaders(headers: IncomingHttpHeaders): void {
    const { [ITEM_ERROR_HEADER]: itemErrors, ...metadata } = metadataOf(headers);
    const encoding = headers['grpc-encoding'];
    if (encoding !== undefined) metadata['grpc-encoding'] = encoding;
    this.#answerHeaders = metadata;
    if (itemErrors === undefined || this.#isFinished) return;
    // A failed item also has a placeholder message in the stream, which is ignored.
    const errors = parseItemErrors(itemErrors as string | string[], this.#items.length);
    for (const [index, error] of errors) this.#answer(this.#items[index] as ProxyItem, error);
  }

  onFrame(frame: Buffer): void {
    this.#answerNext(frame);
  }

  /** Fails only the caller of the answer that is too large. */
  onTooLarge(error: GrpcError): void {
    this.#answerNext(error);
  }

  onEnd(end: CallEnd): void {
    const { batchedPath, log, openStreamEnds } = this.#route;
    const { target, metrics } = this.#backend;
    if (this.#surplus > 0) {
      metrics?.surplusAnswers(this.#surplus);
      const counts = `${this.#received} answers for ${this.#items.length} items`;
      log(`backend ${target} sent ${counts} of ${batchedPath}; the surplus is ignored`);
    }
    if (this.#call !== undefined) openStreamEnds.ended(this.#call);
    if (this.#isFinished) return;
    if (end.status === STATUS.OK) {
      log(`backend ${target} ended ${batchedPath} with OK too early`);
      this.#failRest(tooFewAnswers(batchedPath, this.#received, this.#items.length));
      return;
    }
    if (!isSentByBackend(end)) log(`backend ${target} failed ${batchedPath}: ${end.message}`);
    const error = streamEndError(end, this.#route);
    if (isBackendFailure(end)) {
      metrics?.callFailed(end.status);
      const notStarted = end.isUnseen && end.status === STATUS.UNAVAILABLE && this.#received === 0;
      this.#failBatch(error, notStarted);
    } else this.#failRest(error);
  }

  /** Writes until the stream applies backpressure, and continues when it drains. */
  #writeRest(): void {
    const call = this.#call as OutgoingCall;
    for (;;) {
      const { bytes, next } = joinedFrames(this.#items, this.#written);
      this.#written = next;
      if (next === this.#items.length) {
        call.end(bytes);
        return;
      }
      if (call.write(bytes)) continue;
      call.onDrain(() => {
        if (!this.#isFinished) this.#writeRest();
      });
      return;
    }
  }

  #answerNext(result: Buffer | Error): void {
    const item = this.#items[this.#received++];
    if (item === undefined) this.#surplus += 1;
    else this.#answer(item, result);
    if (this.#received === this.#items.length) this.#allAnswered();
  }

  #answer(item: ProxyItem, result: Buffer | Error): void {
    if (item.isSettled) return;
    this.#unanswered -= 1;
    item.answerHeaders = this.#answerHeaders;
    this.#context.answer(item.index, result);
  }

  /**
   * The slot is released now and not at the end of the stream: the backend has finished the work, and no caller needs the
   * status that follows.
   */
  #allAnswered(): void {
    if (this.#isFinished) return;
    const { clock, openStreamEnds, onCompleted } = this.#route;
    this.#backend.batchesLearned += 1;
    onCompleted(clock.now() - this.#startedAt);
    openStreamEnds.expect(this.#call as OutgoingCall);
    this.#finish();
  }

  #failRest(error: GrpcError): void {
    for (const item of this.#items) this.#answer(item, error);
    this.#finish();
  }

  /** The backend failed: the core counts the failure, and fails or retries the remaining items. */
  #failBatch(cause: GrpcError, notStarted: boolean): void {
    this.#isFinished = true;
    const rest = this.#items.filter(({ isSettled }) => !isSettled);
    for (const item of rest) item.answerHeaders = this.#answerHeaders;
    if (notStarted) this.#route.onNotStarted(rest);
    this.#reject(new BatchwiseError('UNAVAILABLE', cause.message, { cause, notStarted }));
  }

  #callerGone(): void {
    this.#unanswered -= 1;
    if (this.#unanswered > 0 || this.#isFinished) return;
    this.#isFinished = true;
    this.#call?.cancel();
    // Many backends compute a cancelled batch to its end and do not report it. If the slot were released now, a client that
    // cancels its calls would make the backend run more batches than it has slots.
    const { clock } = this.#route;
    const remainingMs = this.#startedAt + (this.#context.expectedMs ?? 0) - clock.now();
    if (remainingMs > 0) clock.setTimer(() => this.#finish(), remainingMs);
    else this.#finish();
  }

  #finish(): void {
    this.#isFinished = true;
    this.#resolve(this.#context.answered);
  }
}
