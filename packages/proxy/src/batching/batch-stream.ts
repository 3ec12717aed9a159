/**
 * One dispatched batch: it acquires a backend, sends its items as the messages of one stream, and answers each caller
 * when the corresponding answer arrives. However the stream ends, every caller gets exactly one answer, and the slot of
 * the backend is released once.
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
import type { BatchContext, Clock, Results, RunningWork } from 'batchwise';
import type { Backend } from '../backends/backend.js';
import type { BackendPool } from '../backends/backend-pool.js';
import { isBackendFailure, isSentByBackend, streamEndError, tooFewAnswers } from '../grpc-errors.js';
import { callOptionsOf, joinedFrames } from './batch-request.js';
import type { OpenStreamEnds } from './open-stream-ends.js';
import type { ProxyItem } from './proxy-item.js';

/** The context shared by all batches of a method. */
export interface BatchRoute {
  readonly path: string;
  readonly batchedPath: string;
  readonly maxMessageBytes: number;
  readonly pool: BackendPool;
  readonly openStreamEnds: OpenStreamEnds;
  readonly clock: Clock;
  readonly log: (line: string) => void;
  /** Called with the service time of a batch whose items were all answered. */
  onCompleted(durationMs: number): void;
}

/** A batch that a backend certainly did not start is sent again once. */
const MAX_ATTEMPTS = 2;

export class BatchStream implements CallHandlers {
  readonly #route: BatchRoute;
  readonly #items: readonly ProxyItem[];
  readonly #context: BatchContext;
  readonly #done: (results: Results<never>) => void;
  /** Callers without an answer. */
  #unanswered: number;
  #attempts = 0;
  #isOver = false;
  #cancelAcquire: () => void = () => {};

  // State of the latest attempt
  #backend: Backend | undefined = undefined;
  #work: RunningWork | undefined = undefined;
  #call: OutgoingCall | undefined = undefined;
  /** The items of the stream, in order. */
  #sent: readonly ProxyItem[] = [];
  #written = 0;
  #received = 0;
  #surplus = 0;
  #answerHeaders: OutgoingHttpHeaders | undefined = undefined;

  constructor(
    route: BatchRoute,
    items: readonly ProxyItem[],
    context: BatchContext,
    done: (results: Results<never>) => void,
  ) {
    this.#route = route;
    this.#items = items;
    this.#context = context;
    this.#done = done;
    this.#unanswered = items.length;
    items.forEach((item, index) => {
      item.index = index;
    });
  }

  start(): void {
    this.#context.onGone(() => this.#callerLeft());
    this.#findBackend(undefined);
  }

  onHeaders(headers: IncomingHttpHeaders): void {
    const { [ITEM_ERROR_HEADER]: itemErrors, ...metadata } = metadataOf(headers);
    const encoding = headers['grpc-encoding'];
    if (encoding !== undefined) metadata['grpc-encoding'] = encoding;
    this.#answerHeaders = metadata;
    if (itemErrors === undefined || this.#isOver) return;
    // A failed item also has a placeholder message in the stream, which is ignored.
    const errors = parseItemErrors(itemErrors as string | string[], this.#sent.length);
    for (const [index, error] of errors) this.#answer(this.#sent[index] as ProxyItem, error);
  }

  onFrame(frame: Buffer): void {
    this.#answerNext(frame);
  }

  /** Fails only the caller of the answer that is too large. */
  onTooLarge(error: GrpcError): void {
    this.#answerNext(error);
  }

  onEnd(end: CallEnd): void {
    const backend = this.#backend as Backend;
    const { pool, batchedPath, log } = this.#route;
    if (this.#surplus > 0) {
      backend.metrics?.surplusAnswers(this.#surplus);
      const counts = `${this.#received} answers for ${this.#sent.length} items`;
      log(`backend ${backend.target} gave ${counts} of ${batchedPath}; the surplus is ignored`);
    }
    if (this.#call !== undefined) this.#route.openStreamEnds.ended(this.#call);
    if (this.#isOver) return;
    const isFailure = isBackendFailure(end);
    if (isFailure) backend.metrics?.callFailed(end.status);
    this.#release();
    pool.callEnded(backend, isFailure);
    const isRetryable = end.isUnseen && end.status === STATUS.UNAVAILABLE && this.#received === 0;
    if (isRetryable && this.#attempts < MAX_ATTEMPTS) {
      backend.metrics?.batchSentAgain();
      this.#findBackend(backend);
    } else if (end.status === STATUS.OK) {
      log(`backend ${backend.target} ended ${batchedPath} with OK too early`);
      this.#failRest(tooFewAnswers(batchedPath, this.#received, this.#sent.length));
    } else {
      if (!isSentByBackend(end)) log(`backend ${backend.target} failed ${batchedPath}: ${end.message}`);
      this.#failRest(streamEndError(end, this.#route));
    }
  }

  #findBackend(avoid: Backend | undefined): void {
    const { pool } = this.#route;
    this.#cancelAcquire = pool.acquire(this.#items.length, avoid, (backend) => {
      if (this.#isOver) return;
      if (backend === undefined) this.#failRest(pool.down ?? CLOSED);
      else this.#send(backend);
    });
  }

  #send(backend: Backend): void {
    const { batchedPath, clock, maxMessageBytes } = this.#route;
    const now = clock.now();
    this.#attempts += 1;
    this.#sent = this.#unanswered === this.#items.length ? this.#items : this.#items.filter(isUnsettled);
    this.#written = 0;
    this.#received = 0;
    this.#surplus = 0;
    this.#backend = backend;
    this.#work = backend.begin(this.#sent.length, now);
    backend.metrics?.batchSent();
    try {
      this.#call = backend.channel.call(batchedPath, callOptionsOf(this.#sent, maxMessageBytes, now), this);
      this.#writeRest();
    } catch (error) {
      // For example invalid metadata.
      this.#route.log(`a batch of ${batchedPath} cannot be sent to ${backend.target}: ${error}`);
      this.#failRest(
        new GrpcError(STATUS.INTERNAL, 'The call cannot be sent to the backend.', { cause: error }),
      );
      this.#call?.cancel();
      this.#release();
    }
  }

  /** Writes until the stream applies backpressure, and continues when it drains. */
  #writeRest(): void {
    const call = this.#call as OutgoingCall;
    for (;;) {
      const { bytes, next } = joinedFrames(this.#sent, this.#written);
      this.#written = next;
      if (next === this.#sent.length) {
        call.end(bytes);
        return;
      }
      if (call.write(bytes)) continue;
      call.onDrain(() => {
        if (call === this.#call && !this.#isOver) this.#writeRest();
      });
      return;
    }
  }

  #answerNext(result: Buffer | Error): void {
    const item = this.#sent[this.#received++];
    if (item === undefined) this.#surplus += 1;
    else this.#answer(item, result);
    if (this.#received === this.#sent.length) this.#allAnswered();
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
    if (this.#isOver) return;
    const { clock, pool, openStreamEnds, onCompleted } = this.#route;
    const backend = this.#backend as Backend;
    const now = clock.now();
    const durationMs = now - (this.#work as RunningWork).startedAt;
    backend.curve.record(this.#sent.length, durationMs, now);
    onCompleted(durationMs);
    openStreamEnds.expect(this.#call as OutgoingCall);
    this.#finish();
    this.#release();
    pool.callEnded(backend, false);
  }

  #failRest(error: GrpcError): void {
    for (const item of this.#items) this.#answer(item, error);
    this.#finish();
  }

  #callerLeft(): void {
    this.#unanswered -= 1;
    if (this.#unanswered > 0 || this.#isOver) return;
    this.#isOver = true;
    this.#cancelAcquire();
    this.#call?.cancel();
    // Many backends compute a cancelled batch to its end without telling. If the slot were released at once, a client that
    // cancels its calls would make the backend run more batches than it has slots.
    const remainingMs = this.#remainingMs();
    if (remainingMs > 0) this.#route.clock.setTimer(() => this.#abandon(), remainingMs);
    else this.#abandon();
  }

  /** The expected remaining service time of the current attempt. */
  #remainingMs(): number {
    const [work, backend] = [this.#work, this.#backend];
    if (work === undefined || backend === undefined) return 0;
    const expectedMs = backend.curve.predict(this.#sent.length) ?? 0;
    return work.startedAt + expectedMs - this.#route.clock.now();
  }

  #abandon(): void {
    this.#finish();
    this.#release();
  }

  #finish(): void {
    this.#isOver = true;
    this.#done(this.#context.answered);
  }

  #release(): void {
    const [work, backend] = [this.#work, this.#backend];
    if (work === undefined || backend === undefined) return;
    this.#work = undefined;
    backend.end(work);
    this.#route.pool.released(backend);
  }
}

const CLOSED = new GrpcError(STATUS.UNAVAILABLE, 'the proxy is closing');

function isUnsettled({ isSettled }: ProxyItem): boolean {
  return !isSettled;
}
