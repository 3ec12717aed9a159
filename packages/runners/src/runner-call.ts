/** A call in the batcher of its runner: the batcher's sink and the caller's ticket. */
import type { BatchRecord, EnqueueOptions, Sink } from 'batchwise';
import type { Deliveries } from './deliveries.js';
import type { Readmission } from './readmission.js';
import type { BatchTrace, RunnerSink, RunnerTicket } from './runner.js';

/** The ticket of a call that was rejected before admission: `cancel()` does nothing. */
export const SETTLED: RunnerTicket = { cancel() {} };

/** Limits the timeout of a call to the timeout of the runner. */
export function withCappedTimeout(
  options: EnqueueOptions | undefined,
  runnerTimeoutMs: number,
): EnqueueOptions | undefined {
  if (options?.timeoutMs === undefined || !(options.timeoutMs > runnerTimeoutMs)) return options;
  return { ...options, timeoutMs: runnerTimeoutMs };
}

interface BatcherTicket extends RunnerTicket {
  readonly arrivedAt: number;
}

export abstract class RunnerCall<R> implements Sink<R>, RunnerTicket {
  readonly sink: RunnerSink<R>;
  readonly options: EnqueueOptions | undefined;
  /** The cost at admission. */
  readonly cost: number;
  arrivedAt = 0;
  /** The neighbours in the list of `Readmission`. */
  older: RunnerCall<R> | undefined = undefined;
  newer: RunnerCall<R> | undefined = undefined;
  isTracked = false;
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

  /** The trace of the batch for the caller. */
  protected abstract traceOf(batch: BatchRecord): BatchTrace;

  /** Called with the ticket of the batcher's `enqueue`. */
  admitted(ticket: BatcherTicket): this {
    this.arrivedAt = ticket.arrivedAt;
    this.#ticket = ticket;
    return this;
  }

  /** The options for readmission: the remaining time, and the time already waited. */
  readmissionOptions(now: number, runnerTimeoutMs: number): EnqueueOptions {
    const { timeoutMs = runnerTimeoutMs, waitedMs: waitedElsewhereMs = 0 } = this.options ?? {};
    const waitedMs = now - this.arrivedAt;
    const leftMs = Math.max(0, timeoutMs - (waitedMs - waitedElsewhereMs));
    return { ...this.options, timeoutMs: leftMs, waitedMs };
  }

  /** Called with the new ticket after readmission. */
  readmitted(ticket: RunnerTicket): void {
    this.#ticket = ticket;
    if (this.#cancelled !== undefined) ticket.cancel(this.#cancelled.reason);
  }

  resolve(result: R, batch: BatchRecord): void {
    if (this.isTracked) this.#readmission.untrack(this);
    this.#deliveries.add(this.sink, result, this.traceOf(batch));
  }

  reject(error: Error): void {
    if (this.isTracked) this.#readmission.untrack(this);
    if (this.#readmission.claims(this, error)) this.#ticket = undefined;
    else this.sink.reject(error);
  }

  cancel(reason?: unknown): void {
    if (this.#ticket === undefined) this.#cancelled = { reason };
    else this.#ticket.cancel(reason);
  }
}
