/** A call on its way through the batcher of its runner: what the batcher tells, and what the caller holds. */
import type { BatchRecord, EnqueueOptions, Sink } from 'batchwise';
import type { Deliveries } from './deliveries.js';
import type { Readmission } from './readmission.js';
import type { BatchTrace, RunnerSink, RunnerTicket } from './runner.js';

interface BatcherTicket extends RunnerTicket {
  readonly arrivedAt: number;
}

export abstract class RunnerCall<R> implements Sink<R>, RunnerTicket {
  readonly sink: RunnerSink<R>;
  readonly options: EnqueueOptions | undefined;
  /** What it counted as when it came in. */
  readonly cost: number;
  arrivedAt = 0;
  /** Its place among those who would count differently today. */
  olderOne: RunnerCall<R> | undefined = undefined;
  newerOne: RunnerCall<R> | undefined = undefined;
  isListed = false;
  readonly #readmission: Readmission<R>;
  readonly #deliveries: Deliveries<R>;
  #ticket: RunnerTicket | undefined = undefined;
  #cancelled: { readonly reason: unknown } | undefined = undefined;

  constructor(
    readmission: Readmission<R>,
    deliveries: Deliveries<R>,
    sink: RunnerSink<R>,
    options: EnqueueOptions | undefined,
    cost: number,
  ) {
    this.#readmission = readmission;
    this.#deliveries = deliveries;
    this.sink = sink;
    this.options = options;
    this.cost = cost;
  }

  /** What its caller is told of the batch that it went with. */
  protected abstract traceOf(batch: BatchRecord): BatchTrace;

  /** To be told of what the batcher's `enqueue` gave. */
  entered(ticket: BatcherTicket): this {
    this.arrivedAt = ticket.arrivedAt;
    this.#ticket = ticket;
    return this;
  }

  /** With which it is let in again: in the time that it has left, and as old as it is. */
  optionsAgain(now: number, runnerTimeoutMs: number): EnqueueOptions {
    const { timeoutMs = runnerTimeoutMs, waitedMs: waitedElsewhereMs = 0 } = this.options ?? {};
    const waitedMs = now - this.arrivedAt;
    const leftMs = Math.max(0, timeoutMs - (waitedMs - waitedElsewhereMs));
    return { ...this.options, timeoutMs: leftMs, waitedMs };
  }

  /** It is in once more, and has another ticket. */
  enteredAgain(ticket: RunnerTicket): void {
    this.#ticket = ticket;
    if (this.#cancelled !== undefined) ticket.cancel(this.#cancelled.reason);
  }

  resolve(result: R, batch: BatchRecord): void {
    if (this.isListed) this.#readmission.left(this);
    this.#deliveries.add(this.sink, result, this.traceOf(batch));
  }

  reject(error: Error): void {
    if (this.isListed) this.#readmission.left(this);
    if (this.#readmission.takes(this, error)) this.#ticket = undefined;
    else this.sink.reject(error);
  }

  cancel(reason?: unknown): void {
    if (this.#ticket === undefined) this.#cancelled = { reason };
    else this.#ticket.cancel(reason);
  }
}
