/** A call from another process, until it is answered, cancelled, or nobody is left to be told. */
import type { BatchTrace, RunnerSink, RunnerTicket } from '@batchwise/runners';
import type { EnqueueOptions } from 'batchwise';
import type { HostedRunner } from './hosted-runner.js';

export interface CallOutlet {
  answer(call: HostedCall, result: unknown, trace: BatchTrace): void;
  fail(call: HostedCall, error: unknown): void;
}

export class HostedCall implements RunnerSink<unknown> {
  readonly id: number;
  readonly #hosted: HostedRunner;
  readonly #outlet: CallOutlet;
  #ticket: RunnerTicket | undefined;
  #isSettled = false;

  constructor(id: number, hosted: HostedRunner, outlet: CallOutlet) {
    this.id = id;
    this.#hosted = hosted;
    this.#outlet = outlet;
  }

  start(item: unknown, options: EnqueueOptions | undefined): void {
    this.#hosted.calls += 1;
    try {
      this.#ticket = this.#hosted.runner.enqueue(item, this, options);
    } catch (error) {
      this.reject(error);
    }
  }

  resolve(result: unknown, trace: BatchTrace): void {
    if (this.#settle()) this.#outlet.answer(this, result, trace);
  }

  reject(error: unknown): void {
    if (this.#settle()) this.#outlet.fail(this, error);
  }

  /** The caller is gone, and knows: it is not told again. */
  cancel(reason: string): void {
    if (this.#settle()) this.#ticket?.cancel(reason);
  }

  #settle(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    this.#hosted.calls -= 1;
    return true;
  }
}
