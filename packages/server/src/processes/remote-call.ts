/** A call to another process, which is its ticket too; settled once, whoever comes first. */
import type { BatchTrace, RunnerSink, RunnerTicket } from '@batchwise/runners';
import { BatchwiseError } from 'batchwise';
import { throwLater } from './throw-later.js';

export interface CallKeeper {
  readonly name: string;
  /** The call was settled here: the other process need not bother any more. */
  forget(call: RemoteCall): void;
}

export class RemoteCall implements RunnerTicket {
  readonly id: number;
  /** When an answer would be worthless, with some time for the other process to say so itself. */
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

  /** Settles it here and tells the other process. */
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
