/** A call to another process and its ticket. It is settled once, by the first outcome. */
import type { BatchTrace, RunnerSink, RunnerTicket } from '@batchwise/runners';
import { BatchwiseError } from 'batchwise';

export interface CallKeeper {
  readonly name: string;
  /** The call was settled in this process: the other process is told to cancel it. */
  forget(call: RemoteCall): void;
}

export class RemoteCall implements RunnerTicket {
  readonly id: number;
  /** The deadline, with some time for the other process to reject the call itself. */
  readonly lateAt: number;
  readonly #keeper: CallKeeper;
  #sink: RunnerSink<unknown> | undefined;

  constructor(id: number, lateAt: number, keeper: CallKeeper, sink: RunnerSink<unknown>) {
    this.id = id;
    this.lateAt = lateAt;
    this.#keeper = keeper;
    this.#sink = sink;
  }

  cancel(reason?: unknown): void {
    const text = reason instanceof Error ? reason.message : reason;
    const because = typeof text === 'string' ? `: ${text}` : '.';
    this.giveUp('CANCELLED', `the call was cancelled${because}`, reason);
  }

  /** Settles the call here and tells the other process. */
  giveUp(code: 'CANCELLED' | 'DEADLINE_EXCEEDED' | 'CLOSED', message: string, cause?: unknown): void {
    if (this.#sink === undefined) return;
    this.#keeper.forget(this);
    const options = cause === undefined ? {} : { cause };
    this.reject(new BatchwiseError(code, `${this.#keeper.name}: ${message}`, options));
  }

  resolve(result: unknown, trace: BatchTrace): void {
    const sink = this.#take();
    try {
      sink?.resolve(result, trace);
    } catch (error) {
      throwLater(error);
    }
  }

  reject(error: Error): void {
    const sink = this.#take();
    try {
      sink?.reject(error);
    } catch (thrown) {
      throwLater(thrown);
    }
  }

  #take(): RunnerSink<unknown> | undefined {
    const sink = this.#sink;
    this.#sink = undefined;
    return sink;
  }
}

/** Reports an error of a sink as an uncaught error, so that other calls go on. */
export function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
