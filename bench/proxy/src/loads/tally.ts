/** Sends the requests of a client process and records their outcomes. */
import { nowMs, pauseMs, percentile } from '@batchwise/bench-harness';
import type { Caller } from '../caller.js';
import type { LoadReport, LoadTime } from '../load.js';

/** The maximum wait for requests in flight at the end of a run. */
const DRAIN_MS = 5000;
const STEP_MS = 20;
const MOST = 2 ** 32;

export class Tally {
  readonly #caller: Caller;
  readonly #latenciesMs: number[] = [];
  #sent = 0;
  #settled = 0;
  #failed = 0;
  #isTimed = false;
  isOver = false;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Sends a request. Its latency counts from `dueAt`, which is earlier than now if the process is late. */
  send(dueAt: number, onSettled: () => void): void {
    const number = this.#sent % MOST;
    this.#sent += 1;
    this.#caller.call(number, (answer) => {
      this.#settled += 1;
      if (answer !== number) this.#failed += 1;
      else if (this.#isTimed) this.#latenciesMs.push(nowMs() - dueAt);
      onSettled();
    });
  }

  /** Waits for the load; `onTimed` is called at the end of the warm-up. */
  async run({ warmupMs, timedMs }: LoadTime, onTimed: () => void): Promise<LoadReport> {
    await pauseMs(warmupMs);
    onTimed();
    this.#isTimed = true;
    const startedAt = nowMs();
    await pauseMs(timedMs);
    this.#isTimed = false;
    this.isOver = true;
    const elapsedMs = nowMs() - startedAt;
    await this.#drain();
    const answered = this.#latenciesMs.length;
    return {
      perSecond: (1000 * answered) / elapsedMs,
      p50Ms: percentile(this.#latenciesMs, 0.5),
      p90Ms: percentile(this.#latenciesMs, 0.9),
      p99Ms: percentile(this.#latenciesMs, 0.99),
      maxMs: percentile(this.#latenciesMs, 1),
      answered,
      sent: this.#sent,
      failed: this.#failed + this.#sent - this.#settled,
    };
  }

  /** Waits until this number of requests is settled. */
  async runUntil(settled: number): Promise<void> {
    while (this.#settled < settled) await pauseMs(STEP_MS);
    this.isOver = true;
    await this.#drain();
  }

  async #drain(): Promise<void> {
    for (let waited = 0; waited < DRAIN_MS && this.#settled < this.#sent; waited += STEP_MS) {
      await pauseMs(STEP_MS);
    }
  }
}
