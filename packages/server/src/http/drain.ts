/** The end of a server that owes answers: waits for them, refuses what comes too late, then cuts the lines. */
import type { Clock } from 'batchwise';
import { RequestError } from '../request-error.js';
import type { Connection } from './connection.js';
import type { HttpExchange } from './http-exchange.js';
import type { Unanswered } from './unanswered.js';

/** Requests that were on their way when the drain began are answered rather than cut off. */
const IDLE_GRACE_MS = 250;

export class Drain {
  /** Resolves when all connections are closed, with the number of requests that the time did not suffice for. */
  readonly done: Promise<number>;
  readonly #connections: ReadonlySet<Connection>;
  readonly #unanswered: Unanswered<HttpExchange>;
  readonly #clock: Clock;
  readonly #timers: readonly unknown[];
  #finish: (refused: number) => void = () => {};
  #isGraceOver = false;
  #refused = 0;

  constructor(
    connections: ReadonlySet<Connection>,
    unanswered: Unanswered<HttpExchange>,
    clock: Clock,
    timeoutMs: number,
  ) {
    this.#connections = connections;
    this.#unanswered = unanswered;
    this.#clock = clock;
    this.done = new Promise((resolve) => {
      this.#finish = resolve;
    });
    this.#timers = [
      clock.setTimer(() => this.#endGrace(), IDLE_GRACE_MS),
      clock.setTimer(() => this.#giveUp(), timeoutMs),
    ];
    this.check();
  }

  /** To be called when an answer is given or a connection closed. */
  check(): void {
    if (this.#isGraceOver) {
      for (const connection of this.#connections) connection.endIfIdle();
    }
    if (this.#connections.size > 0) return;
    for (const timer of this.#timers) this.#clock.clearTimer(timer);
    this.#finish(this.#refused);
  }

  #endGrace(): void {
    this.#isGraceOver = true;
    this.check();
  }

  #giveUp(): void {
    this.#refused = this.#unanswered.size;
    for (const exchange of this.#unanswered) {
      exchange.giveUp(new RequestError('DRAINING', 'The server stopped before the response was ready.'));
    }
    // Not at once: what has just been written goes out first.
    this.#clock.defer(() => {
      for (const { socket } of this.#connections) socket.destroy();
    });
  }
}
