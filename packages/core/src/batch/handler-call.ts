/**
 * One call of the user's handler, which may throw, hang, answer late or answer twice. It reports
 * exactly one outcome to its batch.
 */

import { describe } from '../errors/describe.js';
import { BatchwiseError, throwUncaught } from '../errors/errors.js';
import { paddedTo } from '../learning/curve-table.js';
import type { Reason } from '../policy/policy.js';
import type { Entry } from '../queue/entry.js';
import type { Deadlines, Expiring } from '../time/deadlines.js';
import { callHandler, callingBatch, callOutsideHandler } from './async-context.js';
import { type BatchContext, isThenable, ONE_BY_ONE, type Results } from './handler.js';
import type { RunningBatch } from './running-batch.js';

export class HandlerCall implements Expiring {
  readonly entries: readonly Entry[];
  readonly cost: number;
  readonly startedAt: number;
  readonly deadline: number;
  heapIndex = -1;
  settled = false;

  readonly #batch: RunningBatch;
  readonly #context: LazyContext;
  #deadlines: Deadlines | undefined = undefined;
  #end: (() => void) | undefined = undefined;

  constructor(batch: RunningBatch, entries: readonly Entry[], cost: number, startedAt: number) {
    this.#batch = batch;
    this.entries = entries;
    this.cost = cost;
    this.startedAt = startedAt;
    this.deadline = startedAt + batch.settings.handlerTimeoutMs;
    this.#context = new LazyContext(this, cost, batch);
  }

  /** The handler answers one item and goes on with the others. */
  answerOne(index: number, result: unknown): void {
    if (this.settled) return; // too late
    const entry = this.entries[index];
    if (entry === undefined) throw wrongPosition(index, this.entries.length, this.#batch.settings.name);
    // The caller of the item may submit the next one at once, which is not a call by the handler.
    if (callingBatch() === undefined) this.#batch.answeredOne(entry, result);
    else callOutsideHandler(() => this.#batch.answeredOne(entry, result));
  }

  /** No caller waits for this item any more. */
  gone(entry: Entry): void {
    const listener = this.#context.goneListener;
    if (this.settled || listener === undefined) return;
    const index = this.entries.indexOf(entry);
    if (index < 0) return;
    try {
      listener(index);
    } catch (error) {
      throwUncaught(error); // there may be more items to report
    }
  }

  /** Calls the handler. Its outcome may be known when this returns, or follow later. */
  start(deadlines: Deadlines): void {
    const { handler } = this.#batch;
    if (this.deadline !== Number.POSITIVE_INFINITY) {
      this.#deadlines = deadlines;
      deadlines.add(this);
    }
    let returned: unknown;
    try {
      const called = callHandler(this.#batch, () => handler(itemsOf(this.entries), this.#context));
      returned = called.result;
      if (this.settled) called.end();
      else this.#end = called.end;
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

  /** Fires the handler's signal: its results are no longer needed. */
  abort(reason: BatchwiseError): void {
    this.#context.abort(reason);
  }

  get isAborted(): boolean {
    return this.#context.isAborted;
  }

  /** Ends the call without an outcome. The handler's results are ignored from now on. */
  giveUp(): void {
    if (!this.settled) this.#settle();
  }

  expire(): void {
    const { name, handlerTimeoutMs } = this.#batch.settings;
    const error = new BatchwiseError(
      'HANDLER_TIMEOUT',
      `${name}: the handler did not answer within handlerTimeoutMs (${handlerTimeoutMs} ms).`,
    );
    this.giveUp();
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
    if (this.settled) return; // too late
    this.#settle();
    this.#batch.answered(this, results);
  }

  #threw(thrown: unknown): void {
    if (this.settled) return; // too late
    this.#settle();
    this.#batch.threw(this, thrown);
  }

  #settle(): void {
    this.settled = true;
    this.#end?.();
    this.#deadlines?.remove(this);
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
  goneListener: ((index: number) => void) | undefined = undefined;
  readonly #call: HandlerCall;
  readonly #batchSizes: readonly number[];
  #controller: AbortController | undefined = undefined;
  #abortReason: BatchwiseError | undefined = undefined;

  constructor(
    call: HandlerCall,
    cost: number,
    { settings, backend, expectedMs, reason, group }: RunningBatch,
  ) {
    this.#call = call;
    this.name = settings.name;
    this.backend = backend;
    this.expectedMs = expectedMs;
    this.size = call.entries.length;
    this.cost = cost;
    this.reason = reason;
    this.group = group;
    this.#batchSizes = settings.batchSizes;
  }

  answer(index: number, result: unknown): void {
    this.#call.answerOne(index, result);
  }

  onGone(listener: (index: number) => void): void {
    if (typeof listener !== 'function') {
      throw new BatchwiseError(
        'INVALID_OPTION',
        `${this.name}: context.onGone(listener): expected a function, got ${describe(listener)}.`,
      );
    }
    this.goneListener = listener;
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
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  get isAborted(): boolean {
    return this.#abortReason !== undefined;
  }

  abort(reason: BatchwiseError): void {
    this.#abortReason ??= reason;
    this.#controller?.abort(this.#abortReason);
  }
}

function wrongPosition(index: unknown, size: number, name: string): BatchwiseError {
  const expected = `a position from 0 to ${size - 1}`;
  return new BatchwiseError(
    'BAD_RESULT',
    `${name}: context.answer(index, result): expected ${expected} as index, got ${describe(index)}.`,
  );
}

function itemsOf(entries: readonly Entry[]): never[] {
  const items = new Array(entries.length);
  for (let i = 0; i < entries.length; i++) items[i] = (entries[i] as Entry).item;
  return items as never[];
}
