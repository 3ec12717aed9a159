/**
 * One batch on its way: it waits for a backend, sends its items as the messages of one stream, and answers each
 * caller as the answer in its place arrives. However the stream ends, every caller hears something, and the
 * permit of the backend is given back once.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import {
  type CallEnd,
  type CallHandlers,
  type CallOptions,
  GrpcError,
  ITEM_ERROR_HEADER,
  metadataOf,
  type OutgoingCall,
  parseItemErrors,
  STATUS,
} from '@batchwise/grpc';
import type { BatchContext, Clock, Results, RunningWork } from 'batchwise';
import type { Backend } from './backend.js';
import type { BackendPool } from './backend-pool.js';
import { joinedFrames } from './joined-frames.js';
import type { LateEnds } from './late-ends.js';
import type { ProxyItem } from './proxy-item.js';
import { sharedMetadata } from './shared-metadata.js';
import { endToGrpc, isOfBackend, speaksAgainst, tooFewAnswers } from './stream-end.js';

/** What all batches of a method have in common. */
export interface BatchRoute {
  readonly path: string;
  readonly batchedPath: string;
  readonly maxMessageBytes: number;
  readonly pool: BackendPool;
  readonly lateEnds: LateEnds;
  readonly clock: Clock;
  readonly log: (line: string) => void;
  /** Told how long a batch took whose items were all answered. */
  tookMs(durationMs: number): void;
}

/** How often a batch is sent that no backend has begun. */
const MOST_ATTEMPTS = 2;

export class BatchStream implements CallHandlers {
  readonly #route: BatchRoute;
  readonly #items: readonly ProxyItem[];
  readonly #context: BatchContext;
  readonly #done: (results: Results<never>) => void;
  /** How many callers still wait. */
  #waiting: number;
  #attempts = 0;
  #isOver = false;
  #stopWaiting: () => void = () => {};

  // Of the latest attempt
  #backend: Backend | undefined = undefined;
  #work: RunningWork | undefined = undefined;
  #call: OutgoingCall | undefined = undefined;
  /** In the order of the stream. */
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
    this.#waiting = items.length;
    items.forEach((item, index) => {
      item.index = index;
    });
  }

  start(): void {
    this.#context.onGone(() => this.#goneOne());
    this.#findBackend(undefined);
  }

  onHeaders(headers: IncomingHttpHeaders): void {
    const { [ITEM_ERROR_HEADER]: itemErrors, ...metadata } = metadataOf(headers);
    const encoding = headers['grpc-encoding'];
    if (encoding !== undefined) metadata['grpc-encoding'] = encoding;
    this.#answerHeaders = metadata;
    if (itemErrors === undefined || this.#isOver) return;
    // Each has a message in its place as well, which says nothing: it comes too late.
    const errors = parseItemErrors(itemErrors as string | string[], this.#sent.length);
    for (const [place, error] of errors) this.#answer(this.#sent[place] as ProxyItem, error);
  }

  onFrame(frame: Buffer): void {
    this.#answerNext(frame);
  }

  /** It costs the caller whose answer it is, and nobody else. */
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
    if (this.#call !== undefined) this.#route.lateEnds.ended(this.#call);
    if (this.#isOver) return;
    const isFailure = speaksAgainst(end);
    if (isFailure) backend.metrics?.callFailed(end.status);
    this.#release();
    pool.callEnded(backend, isFailure);
    const isSafe = end.isUnseen && end.status === STATUS.UNAVAILABLE && this.#received === 0;
    if (isSafe && this.#attempts < MOST_ATTEMPTS) {
      backend.metrics?.batchSentAgain();
      this.#findBackend(backend);
    } else if (end.status === STATUS.OK) {
      log(`backend ${backend.target} ended ${batchedPath} with OK too early`);
      this.#failRest(tooFewAnswers(batchedPath, this.#received, this.#sent.length));
    } else {
      if (!isOfBackend(end)) log(`backend ${backend.target} failed ${batchedPath}: ${end.message}`);
      this.#failRest(endToGrpc(end, this.#route));
    }
  }

  #findBackend(avoid: Backend | undefined): void {
    const { pool } = this.#route;
    this.#stopWaiting = pool.acquire(this.#items.length, avoid, (backend) => {
      if (this.#isOver) return;
      if (backend === undefined) this.#failRest(pool.down ?? CLOSED);
      else this.#send(backend);
    });
  }

  #send(backend: Backend): void {
    const { batchedPath, clock } = this.#route;
    const now = clock.now();
    this.#attempts += 1;
    this.#sent = this.#waiting === this.#items.length ? this.#items : this.#items.filter(isWanted);
    this.#written = 0;
    this.#received = 0;
    this.#surplus = 0;
    this.#backend = backend;
    this.#work = backend.begin(this.#sent.length, now);
    backend.metrics?.batchSent();
    try {
      this.#call = backend.channel.call(batchedPath, this.#callOptions(now), this);
      this.#writeOn();
    } catch (error) {
      // Metadata that cannot be sent, say. Nobody is left waiting for it.
      this.#route.log(`a batch of ${batchedPath} cannot be sent to ${backend.target}: ${error}`);
      this.#failRest(
        new GrpcError(STATUS.INTERNAL, 'The call cannot be sent to the backend.', { cause: error }),
      );
      this.#call?.cancel();
      this.#release();
    }
  }

  #callOptions(now: number): CallOptions {
    const first = (this.#sent[0] as ProxyItem).headers;
    const encoding = first['grpc-encoding'];
    const acceptEncoding = first['grpc-accept-encoding'];
    const contentType = first['content-type'];
    let latest = 0;
    for (const { deadline } of this.#sent) latest = Math.max(latest, deadline);
    return {
      metadata: sharedMetadata(this.#sent),
      maxMessageBytes: this.#route.maxMessageBytes,
      // The tightest that still serves all: who has less time is told so by the batcher.
      ...(latest === Number.POSITIVE_INFINITY ? {} : { timeoutMs: Math.max(1, latest - now) }),
      ...(encoding === undefined ? {} : { encoding: String(encoding) }),
      ...(acceptEncoding === undefined ? {} : { acceptEncoding: String(acceptEncoding) }),
      ...(contentType === undefined ? {} : { contentType }),
    };
  }

  /** As far as the backend takes it; the rest when it has room again. */
  #writeOn(): void {
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
        if (call === this.#call && !this.#isOver) this.#writeOn();
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
    this.#waiting -= 1;
    item.answerHeaders = this.#answerHeaders;
    this.#context.answer(item.index, result);
  }

  /**
   * The slot and the permit are free from here on, not from the end of the stream: the backend has done the
   * work, and all that can still come is its status, which nobody waits for.
   */
  #allAnswered(): void {
    if (this.#isOver) return;
    const { clock, pool, lateEnds, tookMs } = this.#route;
    const backend = this.#backend as Backend;
    const now = clock.now();
    const durationMs = now - (this.#work as RunningWork).startedAt;
    backend.curve.record(this.#sent.length, durationMs, now);
    tookMs(durationMs);
    lateEnds.expect(this.#call as OutgoingCall);
    this.#finish();
    this.#release();
    pool.callEnded(backend, false);
  }

  #failRest(error: GrpcError): void {
    for (const item of this.#items) this.#answer(item, error);
    this.#finish();
  }

  #goneOne(): void {
    this.#waiting -= 1;
    if (this.#waiting > 0 || this.#isOver) return;
    this.#isOver = true;
    this.#stopWaiting();
    this.#call?.cancel();
    // Many backends compute a cancelled batch to its end, and gRPC does not tell. If the slot were free at once, a client
    // that cancels its calls would have the backend compute more batches than it has slots.
    const restMs = this.#expectedRestMs();
    if (restMs > 0) this.#route.clock.setTimer(() => this.#abandon(), restMs);
    else this.#abandon();
  }

  #expectedRestMs(): number {
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

function isWanted({ isSettled }: ProxyItem): boolean {
  return !isSettled;
}
