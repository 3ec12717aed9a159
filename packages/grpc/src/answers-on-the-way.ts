import type { Clock } from 'batchwise';
import { ExpiryLine } from './expiry-line.js';
import type { GrpcServerLimits } from './server-limits.js';

/**
 * Answers that their clients have not taken yet. A client may keep its window closed for ever; so each has
 * a time, and when all of them hold too much, the oldest is dropped first: whoever takes answers is never it.
 */
export class AnswersOnTheWay {
  readonly line: ExpiryLine;
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(clock: Clock, limits: GrpcServerLimits) {
    this.line = new ExpiryLine(clock, limits.untakenMs);
    this.#maxBytes = limits.maxUntakenBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    while (this.#bytes > this.#maxBytes && this.line.expireFirst());
  }

  remove(bytes: number): void {
    this.#bytes -= bytes;
  }
}
