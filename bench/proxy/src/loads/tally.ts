/** What became of the requests of a client process. */
import { nowMs, pauseMs, percentile } from '@batchwise/bench-harness';
import type { Caller } from '../caller.js';
import type { LoadReport, LoadTime } from '../load.js';

/** How long is waited for what is still under way when the run is over. */
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

  /** Asks, and times it from when it was due, which is earlier than now where the process is late. */
  ask(dueAt: number, onSettled: () => void): void {
    const number = this.#sent % MOST;
    this.#sent += 1;
    this.#caller.call(number, (answer) => {
      this.#settled += 1;
      if (answer !== number) this.#failed += 1;
      else if (this.#isTimed) this.#latenciesMs.push(nowMs() - dueAt);
      onSettled();
    });
  }

  /** Lets the load run its time; `onTimed` is told when the warm-up is over. */
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

  /** Lets the load run until so many are settled. */
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
