import type { Clock } from 'batchwise';
import { type Expiring, ExpiryLine } from './expiry-line.js';
import type { GrpcServerLimits } from './server-limits.js';

/** A call whose answer waits for its client. */
export interface UntakenAnswer extends Expiring {
  readonly connection: object;
}

/**
 * Answers that their clients have not taken yet. A client may keep its window closed for ever; so each has a time, and when
 * all of them hold too much, the connection that holds most loses its oldest one: a client that takes its answers does not.
 */
export class AnswersOnTheWay {
  readonly line: ExpiryLine;
  readonly #maxBytes: number;
  readonly #ofConnection = new Map<object, Map<UntakenAnswer, number>>();
  readonly #bytesOf = new Map<object, number>();
  #bytes = 0;

  constructor(clock: Clock, limits: GrpcServerLimits) {
    this.line = new ExpiryLine(clock, limits.untakenMs);
    this.#maxBytes = limits.maxUntakenBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(answer: UntakenAnswer, bytes: number): void {
    const { connection } = answer;
    this.line.join(answer);
    const answers = this.#ofConnection.get(connection) ?? new Map<UntakenAnswer, number>();
    this.#ofConnection.set(connection, answers.set(answer, bytes));
    this.#bytesOf.set(connection, (this.#bytesOf.get(connection) ?? 0) + bytes);
    this.#bytes += bytes;
    while (this.#bytes > this.#maxBytes) this.#dropOne();
  }

  /** Does nothing for one that was not added. */
  remove(answer: UntakenAnswer): void {
    const { connection } = answer;
    const answers = this.#ofConnection.get(connection);
    const bytes = answers?.get(answer);
    if (answers === undefined || bytes === undefined) return;
    this.line.leave(answer);
    answers.delete(answer);
    this.#bytes -= bytes;
    if (answers.size > 0) this.#bytesOf.set(connection, (this.#bytesOf.get(connection) as number) - bytes);
    else {
      this.#ofConnection.delete(connection);
      this.#bytesOf.delete(connection);
    }
  }

  #dropOne(): void {
    let most = -1;
    let largest: object | undefined;
    for (const [connection, bytes] of this.#bytesOf) {
      if (bytes <= most) continue;
      most = bytes;
      largest = connection;
    }
    const [oldest] = this.#ofConnection.get(largest as object)?.keys() ?? [];
    if (oldest === undefined) return;
    this.remove(oldest);
    oldest.expire();
  }
}
