/**
 * A request with more rows than a batch may have: its parts go their own ways and come back as one. All are
 * let in or none; when one fails, the request fails with its error and the others are cancelled.
 */
import { BatchwiseError } from 'batchwise';
import { concatTensors } from './concat-tensors.js';
import type { Piece } from './model-batch.js';
import type { BatchTrace, RunnerSink, RunnerTicket } from './runner.js';
import { sliceTensor } from './split-tensor.js';
import type { Tensor, Tensors } from './tensor.js';

/** Each part takes up to 10 µs to enter, all of them at a time: 40 ms. */
const MOST_PARTS = 4096;

/** Cuts it into parts of `maxRows`, the last one of what is left. */
export function partsOf(piece: Piece, dim: number, maxRows: number): Piece[] {
  const parts: Piece[] = [];
  for (let start = 0; start < piece.rows; start += maxRows) {
    const end = Math.min(piece.rows, start + maxRows);
    const inputs = new Map<string, Tensor>();
    for (const [name, tensor] of piece.inputs) inputs.set(name, sliceTensor(tensor, dim, start, end));
    parts.push({ inputs, outputs: piece.outputs, rows: end - start });
  }
  return parts;
}

export interface PartsRule {
  readonly name: string;
  readonly batchDim: readonly [input: number, output: number];
  /** Of one part. */
  readonly maxRows: number;
  /** How many may ever wait; −1 for any number. */
  readonly maxParts: number;
  /** Undefined where it is not known here how long a part takes. */
  readonly pace?: PartsPace | undefined;
}

/** How quickly parts are answered, and how quickly they have to be. */
export interface PartsPace {
  /** Of one part, as it is expected. */
  readonly partMs: number;
  /** Parts that run at a time. */
  readonly concurrency: number;
  readonly allowedMs: number;
  /** Nobody is before them. */
  readonly isAlone: boolean;
}

/** When to come back for one whom nobody was in the way of: when something else may be known of the backend. */
const KNOWN_ANEW_MS = 1000;

/** What takes so many times as long as is allowed, with nobody before it, is too much: no backend is that quick some other time. */
const HOPELESS = 2;

/**
 * Why a request of so many rows is not let in at all. Asked before any part is: the first that the door turns away would
 * be told to come back in a moment, when a little less is before it, and that is its own request.
 */
export function neverInTime(
  name: string,
  rows: number,
  maxRows: number,
  pace: PartsPace | undefined,
): BatchwiseError | undefined {
  const count = Math.ceil(rows / maxRows);
  if (count <= 1 || pace === undefined || durationOf(count, pace) <= HOPELESS * pace.allowedMs)
    return undefined;
  const message =
    `${name}: a request of ${rows} rows makes ${count} batches of ${maxRows}, which take ` +
    `${Math.ceil(durationOf(count, pace))} ms with nobody before them: never in time ` +
    `(${Math.round(pace.allowedMs)} ms). Send fewer rows at a time.`;
  return new BatchwiseError('INVALID_ITEM', message);
}

/** Lets a request in by its parts; refuses it when they never fit. */
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
  if (maxParts !== -1 && count > maxParts) return `which never fit in a queue of ${maxParts}.`;
  if (count > MOST_PARTS) return `and a request may make up to ${MOST_PARTS}.`;
  for (const { data } of inputs.values()) if (data.length > 0) return undefined;
  return 'and a request without elements is not split.';
}

function durationOf(parts: number, { partMs, concurrency }: PartsPace): number {
  return Math.ceil(parts / concurrency) * partMs;
}

/** For those who are turned away before they are in: there is nothing to cancel. */
export const SETTLED: RunnerTicket = { cancel() {} };

export class SplitRequest implements RunnerTicket {
  readonly #sink: RunnerSink<Tensors>;
  readonly #outputDim: number;
  readonly #pace: PartsPace | undefined;
  readonly #tickets: RunnerTicket[] = [];
  #results: Tensors[] = [];
  #missing = 0;
  #isOver = false;
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
    let partsBehind = parts.length;
    let isEntering = true;
    for (const [index, part] of parts.entries()) {
      if (this.#isOver) break; // one was turned away at the door, and the request with it
      partsBehind -= 1;
      const sink = {
        resolve: (result: Tensors, trace: BatchTrace) => this.#answered(index, result, trace),
        reject: (error: Error) => this.#fail(isEntering ? this.#forAll(error, partsBehind) : error),
      };
      this.#tickets.push(enterPart(part, sink));
    }
    isEntering = false;
    if (this.#isOver) this.#cancelRest();
    return this;
  }

  /** The door has told when there is room for one part: the others need their time as well. */
  #forAll(error: Error, partsBehind: number): Error {
    if (!(error instanceof BatchwiseError) || error.retryAfterMs === undefined || this.#pace === undefined)
      return error;
    const roomForAllMs = error.retryAfterMs + durationOf(partsBehind, this.#pace);
    const retryAfterMs = this.#pace.isAlone ? Math.max(KNOWN_ANEW_MS, roomForAllMs) : roomForAllMs;
    return new BatchwiseError(error.code, error.message, { retryAfterMs, cause: error });
  }

  cancel(reason?: unknown): void {
    // The first to hear of it ends the request.
    for (const ticket of this.#tickets) ticket.cancel(reason);
  }

  #answered(index: number, result: Tensors, { batchSize, queueMs, computeMs }: BatchTrace): void {
    if (this.#isOver) return;
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
      const message = `the parts of the answer cannot be put together: ${(error as Error).message}.`;
      this.#fail(new BatchwiseError('BAD_RESULT', message, { cause: error }));
      return;
    }
    this.#isOver = true;
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
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sink.reject(error);
    this.#cancelRest();
  }

  #cancelRest(): void {
    this.cancel('another part of the same request failed');
  }
}
