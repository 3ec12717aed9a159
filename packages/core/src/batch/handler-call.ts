/** One call of the handler, which may throw, hang, or answer late or twice. It reports one outcome to its batch. */

import { describe } from '../errors/describe.js';
import { BatchwiseError, throwUncaught } from '../errors/errors.js';
import { invalidOption } from '../errors/valid.js';
import { paddedTo } from '../learning/curve-table.js';
import type { Reason } from '../policy/policy.js';
import type { Entry } from '../queue/entry.js';
import type { Deadlines, Expiring } from '../time/deadlines.js';
import { callHandler, callingBatch, callOutsideHandler } from './async-context.js';
import { type BatchContext, isThenable, ONE_BY_ONE, type Results, wrongIndex } from './handler.js';
import type { RunningBatch } from './running-batch.js';

export class HandlerCall implements Expiring {
  readonly entries: readonly Entry[];
  readonly cost: number;
  startedAt: number;
  deadline: number;
  heapIndex = -1;
  settled = false;
  /** When the handler returned its results. */
  answeredAt: number | undefined = undefined;
  /** Callers that it has settled, and those of them with a result. */
  settledCallers = 0;
  succeeded = 0;

  readonly #batch: RunningBatch;
  readonly #context: LazyContext;
  #deadlines: Deadlines | undefined = undefined;
  #leaveContext: (() => void) | undefined = undefined;

  constructor(batch: RunningBatch, entries: readonly Entry[], cost: number, startedAt: number) {
    this.#batch = batch;
    this.entries = entries;
    this.cost = cost;
    this.startedAt = startedAt;
    this.deadline = startedAt + batch.settings.handlerTimeoutMs;
    this.#context = new LazyContext(this, batch);
  }

  /** The handler answers one item and goes on with the others. Answers of a settled call are ignored. */
  answerOne(index: number, result: unknown): void {
    if (this.settled) return;
    const entry = this.entries[index];
    if (entry === undefined) throw wrongIndex(index, this.entries.length, this.#batch.name);
    // The caller of the item may submit the next one at once, which is not a call by the handler.
    if (callingBatch() === undefined) this.#batch.answeredOne(entry, result);
    else callOutsideHandler(() => this.#batch.answeredOne(entry, result));
  }

  /** No caller waits for this item any more. */
  unwanted(entry: Entry): void {
    const listener = this.#context.unwantedListener;
    if (this.settled || listener === undefined) return;
    const index = this.entries.indexOf(entry);
    if (index < 0) return;
    try {
      listener(index);
    } catch (error) {
      throwUncaught(error); // there may be more items to report
    }
  }

  /**
   * Calls the handler. Its outcome may be known when this returns, or follow later. Without `deadlines`, the timeout
   * applies from `begin()`.
   */
  start(deadlines: Deadlines | undefined): void {
    const { handler } = this.#batch;
    if (deadlines !== undefined) this.#addTo(deadlines);
    let returned: unknown;
    try {
      const called = callHandler(this.#batch, () => handler(itemsOf(this.entries), this.#context));
      returned = called.result;
      if (this.settled) called.end();
      else this.#leaveContext = called.end;
      if (isThenable(returned)) {
        this.#follow(returned);
        return;
      }
    } catch (thrown) {
      this.#threw(thrown);
      return;
    }
    this.#answered(returned);
  }

  /** The backend starts the prefetched batch. */
  begin(now: number, deadlines: Deadlines): void {
    if (this.settled) return;
    this.startedAt = now;
    this.deadline = now + this.#batch.settings.handlerTimeoutMs;
    this.#addTo(deadlines);
  }

  #addTo(deadlines: Deadlines): void {
    if (this.deadline === Number.POSITIVE_INFINITY) return;
    this.#deadlines = deadlines;
    deadlines.add(this);
  }

  /** Fires the handler's signal: its results are no longer needed. */
  abort(reason: BatchwiseError): void {
    this.#context.abort(reason);
  }

  get isAborted(): boolean {
    return this.#context.abortReason !== undefined;
  }

  /** Settles the call: any later result of the handler is ignored. Returns false if it was settled before. */
  settle(): boolean {
    if (this.settled) return false;
    this.settled = true;
    this.#leaveContext?.();
    this.#deadlines?.remove(this);
    return true;
  }

  expire(): void {
    const { name, handlerTimeoutMs } = this.#batch.settings;
    const error = new BatchwiseError(
      'HANDLER_TIMEOUT',
      `${name}: the handler did not answer within handlerTimeoutMs (${handlerTimeoutMs} ms).`,
    );
    this.settle();
    this.#batch.timedOut(this, error);
    this.abort(error);
    this.#batch.resume();
  }

  #follow(returned: PromiseLike<unknown>): void {
    // Other thenables may call back twice or throw; a promise does neither.
    const promise = returned instanceof Promise ? returned : Promise.resolve(returned);
    promise.then(
      (results: unknown) => {
        this.#answered(results);
        this.#batch.resume();
      },
      (thrown: unknown) => {
        this.#threw(thrown);
        this.#batch.resume();
      },
    );
  }

  #answered(results: unknown): void {
    if (this.settle()) this.#batch.answered(this, results);
  }

  #threw(thrown: unknown): void {
    if (this.settle()) this.#batch.threw(this, thrown);
  }
}

/** The handler's context. An AbortController costs as much as dozens of items, so it is created on first use. */
class LazyContext implements BatchContext {
  readonly name: string;
  readonly backend: string | undefined;
  readonly expectedMs: number | undefined;
  readonly size: number;
  readonly cost: number;
  readonly reason: Reason;
  readonly group: unknown;
  readonly answered: Results<never> = ONE_BY_ONE;
  unwantedListener: ((index: number) => void) | undefined = undefined;
  abortReason: BatchwiseError | undefined = undefined;
  readonly #call: HandlerCall;
  readonly #batchSizes: readonly number[];
  #controller: AbortController | undefined = undefined;

  constructor(call: HandlerCall, { settings, backend, expectedMs, reason, group }: RunningBatch) {
    this.#call = call;
    this.name = settings.name;
    this.backend = backend;
    this.expectedMs = expectedMs;
    this.size = call.entries.length;
    this.cost = call.cost;
    this.reason = reason;
    this.group = group;
    this.#batchSizes = settings.batchSizes;
  }

  answer(index: number, result: unknown): void {
    this.#call.answerOne(index, result);
  }

  onGone(listener: (index: number) => void): void {
    if (typeof listener !== 'function') {
      throw invalidOption(
        `${this.name}: context.onGone(listener): expected a function, got ${describe(listener)}.`,
      );
    }
    this.unwantedListener = listener;
  }

  get oldestWaitMs(): number {
    const { entries, startedAt } = this.#call;
    let oldest = startedAt;
    for (const { arrivedAt } of entries) oldest = Math.min(oldest, arrivedAt);
    return startedAt - oldest;
  }

  get paddedCost(): number {
    return paddedTo(this.#batchSizes, this.cost);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.abortReason !== undefined) this.#controller.abort(this.abortReason);
    }
    return this.#controller.signal;
  }

  abort(reason: BatchwiseError): void {
    this.abortReason ??= reason;
    this.#controller?.abort(this.abortReason);
  }
}

function itemsOf(entries: readonly Entry[]): never[] {
  const items = new Array(entries.length);
  for (let i = 0; i < entries.length; i++) items[i] = (entries[i] as Entry).item;
  return items as never[];
}
