/**
 * Splits a request with more rows than a batch into parts and concatenates their results. The parts are admitted all
 * or none. If one part fails, the request fails with its error and the other parts are cancelled.
 */
import { BatchwiseError } from 'batchwise';
import { concatTensors } from './concat-tensors.js';
import type { Piece } from './model-batch.js';
import type { BatchTrace, RunnerSink, RunnerTicket } from './runner.js';
import { SETTLED } from './runner-call.js';
import { sliceTensor } from './split-tensor.js';
import type { Tensor, Tensors } from './tensor.js';

/** The maximum number of parts of a request. Admission takes up to 10 µs per part, 40 ms for all. */
const MAX_PARTS = 4096;

/** Splits a request into parts of `maxRows` rows. The last part has the rest. */
export function partsOf(piece: Piece, dim: number, maxRows: number): Piece[] {
  const parts: Piece[] = [];
  for (let start = 0; start < piece.rows; start += maxRows) {
    const end = Math.min(piece.rows, start + maxRows);
    const inputs = new Map<string, Tensor>();
    for (const [name, tensor] of piece.inputs) inputs.set(name, sliceTensor(tensor, dim, start, end));
    const firstRow = (piece.firstRow ?? 0) + start;
    parts.push({ inputs, outputs: piece.outputs, rows: end - start, firstRow });
  }
  return parts;
}

export interface PartsRule {
  readonly name: string;
  readonly batchDim: readonly [input: number, output: number];
  /** The maximum rows of one part. */
  readonly maxRows: number;
  /** The maximum number of queued parts; −1 for no limit. */
  readonly maxParts: number;
  /** Undefined if the duration of a part is unknown. */
  readonly pace?: PartsPace | undefined;
}

/** The expected speed of parts, and the allowed time. */
export interface PartsPace {
  /** The expected duration of one part. */
  readonly partMs: number;
  /** The maximum number of concurrent parts. */
  readonly concurrency: number;
  readonly allowedMs: number;
  /** No other request is queued or in flight. */
  readonly isAlone: boolean;
}

/** The minimum retry time if there are no other requests: by then the estimate of the backend may have changed. */
const MIN_IDLE_RETRY_MS = 1000;

/**
 * A request that takes this many times the allowed time on an idle backend is rejected as invalid: no retry can
 * succeed.
 */
const MAX_TIME_RATIO = 2;

/**
 * Returns an error for a request that can never finish in time. Checked before admission: an admission error would
 * have a short retry time, which only accounts for the other parts of the same request.
 */
export function tooSlowError(
  name: string,
  rows: number,
  maxRows: number,
  pace: PartsPace | undefined,
): BatchwiseError | undefined {
  const count = Math.ceil(rows / maxRows);
  if (count <= 1 || pace === undefined || durationOf(count, pace) <= MAX_TIME_RATIO * pace.allowedMs)
    return undefined;
  const message =
    `${name}: a request of ${rows} rows makes ${count} batches of ${maxRows}, which take ` +
    `${Math.ceil(durationOf(count, pace))} ms on an idle backend: more than the limit ` +
    `(${Math.round(pace.allowedMs)} ms). Send fewer rows per request.`;
  return new BatchwiseError('INVALID_ITEM', message);
}

/** Admits a request in parts. Rejects it if the parts never fit in the queue. */
export function enterInParts(
  piece: Piece,
  { name, batchDim, maxRows, maxParts, pace }: PartsRule,
  sink: RunnerSink<Tensors>,
  enterPart: (part: Piece, sink: RunnerSink<Tensors>) => RunnerTicket,
): RunnerTicket {
  const count = Math.ceil(piece.rows / maxRows);
  const why = whyNotSplit(piece, count, maxParts);
  if (why !== undefined) {
    const message = `${name}: a request of ${piece.rows} rows makes ${count} batches of ${maxRows}, ${why}`;
    sink.reject(new BatchwiseError('INVALID_ITEM', message));
    return SETTLED;
  }
  const split = new SplitRequest(sink, batchDim[1], pace);
  return split.enter(partsOf(piece, batchDim[0], maxRows), enterPart);
}

function whyNotSplit({ inputs }: Piece, count: number, maxParts: number): string | undefined {
  if (maxParts !== -1 && count > maxParts) return `more than the queue can hold (${maxParts}).`;
  if (count > MAX_PARTS) return `more than the maximum of ${MAX_PARTS} per request.`;
  for (const { data } of inputs.values()) if (data.length > 0) return undefined;
  return 'and a request without elements is not split.';
}

function durationOf(parts: number, { partMs, concurrency }: PartsPace): number {
  return Math.ceil(parts / concurrency) * partMs;
}

export class SplitRequest implements RunnerTicket {
  readonly #sink: RunnerSink<Tensors>;
  readonly #outputDim: number;
  readonly #pace: PartsPace | undefined;
  readonly #tickets: RunnerTicket[] = [];
  #results: Tensors[] = [];
  #missing = 0;
  #isSettled = false;
  #batchSize = 0;
  #queueMs = 0;
  #computeMs = 0;

  constructor(sink: RunnerSink<Tensors>, outputDim: number, pace?: PartsPace) {
    this.#sink = sink;
    this.#outputDim = outputDim;
    this.#pace = pace;
  }

  enter(parts: readonly Piece[], enterPart: (part: Piece, sink: RunnerSink<Tensors>) => RunnerTicket): this {
    this.#missing = parts.length;
    this.#results = new Array(parts.length);
    let partsLeft = parts.length;
    let isEntering = true;
    for (const [index, part] of parts.entries()) {
      if (this.#isSettled) break; // a part was rejected at admission, which rejects the request
      partsLeft -= 1;
      const sink = {
        resolve: (result: Tensors, trace: BatchTrace) => this.#answered(index, result, trace),
        reject: (error: Error) => this.#fail(isEntering ? this.#retryAllParts(error, partsLeft) : error),
      };
      this.#tickets.push(enterPart(part, sink));
    }
    isEntering = false;
    if (this.#isSettled) this.#cancelRest();
    return this;
  }

  /** The retry time of an admission error covers one part. Adds the time of the remaining parts. */
  #retryAllParts(error: Error, partsLeft: number): Error {
    if (!(error instanceof BatchwiseError) || error.retryAfterMs === undefined || this.#pace === undefined)
      return error;
    const roomForAllMs = error.retryAfterMs + durationOf(partsLeft, this.#pace);
    const retryAfterMs = this.#pace.isAlone ? Math.max(MIN_IDLE_RETRY_MS, roomForAllMs) : roomForAllMs;
    return new BatchwiseError(error.code, error.message, { retryAfterMs, cause: error });
  }

  cancel(reason?: unknown): void {
    // The first cancelled part settles the request.
    for (const ticket of this.#tickets) ticket.cancel(reason);
  }

  #answered(index: number, result: Tensors, { batchSize, queueMs, computeMs }: BatchTrace): void {
    if (this.#isSettled) return;
    this.#results[index] = result;
    this.#batchSize = Math.max(this.#batchSize, batchSize);
    if (queueMs >= this.#queueMs) {
      this.#queueMs = queueMs;
      this.#computeMs = computeMs;
    }
    this.#missing -= 1;
    if (this.#missing === 0) this.#finish();
  }

  #finish(): void {
    let merged: Tensors;
    try {
      merged = this.#merged();
    } catch (error) {
      const message = `the parts of the result cannot be concatenated: ${(error as Error).message}.`;
      this.#fail(new BatchwiseError('BAD_RESULT', message, { cause: error }));
      return;
    }
    this.#isSettled = true;
    const trace = { batchSize: this.#batchSize, queueMs: this.#queueMs, computeMs: this.#computeMs };
    this.#sink.resolve(merged, trace);
  }

  #merged(): Tensors {
    const merged = new Map<string, Tensor>();
    for (const name of (this.#results[0] as Tensors).keys()) {
      const parts = this.#results.map((result) => result.get(name) as Tensor);
      merged.set(name, concatTensors(parts, this.#outputDim));
    }
    return merged;
  }

  #fail(error: Error): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#sink.reject(error);
    this.#cancelRest();
  }

  #cancelRest(): void {
    this.cancel('another part of the same request failed');
  }
}
