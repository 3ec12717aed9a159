/** The longest that a request may stay: one timer, set for the oldest, however many there are. */
import { BatchwiseError, type Clock } from 'batchwise';
import { RequestError } from '../request-error.js';
import type { HttpExchange } from './http-exchange.js';
import type { Unanswered } from './unanswered.js';

export class RequestTimeout {
  readonly #unanswered: Unanswered<HttpExchange>;
  readonly #timeoutMs: number;
  readonly #clock: Clock;
  #timer: unknown;

  /** 0 ms: no limit. */
  constructor(unanswered: Unanswered<HttpExchange>, timeoutMs: number, clock: Clock) {
    this.#unanswered = unanswered;
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
  }

  /** To be called when a request has come. */
  watch(): void {
    if (this.#timeoutMs === 0 || this.#timer !== undefined) return;
    const { oldest } = this.#unanswered;
    if (oldest === undefined) return;
    this.#timer = this.#clock.setTimer(
      () => this.#expire(),
      oldest.startedAt + this.#timeoutMs - this.#clock.now(),
    );
  }

  stop(): void {
    this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  #expire(): void {
    this.#timer = undefined;
    const latestStart = this.#clock.now() - this.#timeoutMs;
    for (const exchange of this.#unanswered) {
      if (exchange.startedAt > latestStart) break;
      if (exchange.isReceiving) {
        const late = `The request did not arrive within ${this.#timeoutMs} ms.`;
        exchange.failAndClose(new RequestError('REQUEST_TIMEOUT', late));
      } else {
        exchange.giveUp(new BatchwiseError('DEADLINE_EXCEEDED', `No response within ${this.#timeoutMs} ms.`));
      }
    }
    this.watch();
  }
}
