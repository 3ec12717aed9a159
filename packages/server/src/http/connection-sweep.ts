/** Ends the connections of those who take too long: one timer, however many there are. */
import type { Clock } from 'batchwise';
import type { Connection } from './connection.js';
import type { HttpLimits } from './http-limits.js';

const LEAST_MS = 10;
const MOST_MS = 1000;

export class ConnectionSweep {
  readonly #connections: ReadonlySet<Connection>;
  readonly #clock: Clock;
  readonly #everyMs: number;
  #timer: unknown;

  constructor(connections: ReadonlySet<Connection>, limits: HttpLimits, clock: Clock) {
    this.#connections = connections;
    this.#clock = clock;
    const { headersTimeoutMs, receiveTimeoutMs, keepAliveTimeoutMs } = limits;
    const limited = [headersTimeoutMs, receiveTimeoutMs, keepAliveTimeoutMs].filter((ms) => ms > 0);
    // Nobody is cut off later than half his time too late.
    this.#everyMs =
      limited.length === 0 ? 0 : Math.min(MOST_MS, Math.max(LEAST_MS, Math.min(...limited) / 2));
  }

  /** To be called when there is a connection. */
  watch(): void {
    if (this.#everyMs === 0 || this.#timer !== undefined) return;
    this.#timer = this.#clock.setTimer(() => this.#look(), this.#everyMs);
  }

  stop(): void {
    this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    this.#timer = undefined;
    // After a turn that took long, timers come first. What has arrived in its course is not late: it is read before.
    this.#clock.defer(() => this.#expire());
    if (this.#connections.size > 0) this.watch();
  }

  #expire(): void {
    const now = this.#clock.now();
    for (const connection of this.#connections) if (connection.deadline <= now) connection.expire();
  }
}
