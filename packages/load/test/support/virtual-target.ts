/** A target in memory, on a clock, for runs on virtual time. */
import type { Clock } from 'batchwise';
import type { CreateWork } from '../../src/run/create-work.js';
import { TargetWork } from '../../src/run/target-work.js';
import type { Outcome, Target } from '../../src/targets/target.js';

export const OK: Outcome = { kind: 'ok', responseBytes: 10 };

export class VirtualTarget implements Target {
  readonly name = 'POST /virtual';
  readonly connections = 0;
  /** When each request was sent, and its number. */
  readonly sent: { readonly at: number; readonly number: number }[] = [];
  inFlight = 0;
  mostInFlight = 0;
  readonly #held: (() => void)[] = [];
  readonly #clock: Clock;
  readonly #latencyMs: (sentAt: number) => number;

  constructor(clock: Clock, latencyMs: (sentAt: number) => number = () => 1) {
    this.#clock = clock;
    this.#latencyMs = latencyMs;
  }

  async prepare(): Promise<void> {}

  send(number: number, done: (outcome: Outcome) => void): void {
    const at = this.#clock.now();
    this.sent.push({ at, number });
    this.inFlight++;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    const latencyMs = this.#latencyMs(at);
    const end = () => {
      this.inFlight--;
      done(OK);
    };
    if (latencyMs === Number.POSITIVE_INFINITY) this.#held.push(end);
    else this.#clock.setTimer(end, latencyMs);
  }

  /** The responses of all requests whose latency has no end. */
  endAll(): void {
    for (const end of this.#held.splice(0)) end();
  }

  async close(): Promise<void> {}

  /** For `startRun`. */
  get createWork(): CreateWork {
    return async (_spec, { recorder, clock, share }) => ({
      work: new TargetWork(this, recorder, clock, share),
    });
  }
}
