/**
 * Redis' time, which all machines of a queue share, on this process's own clock. Machines' clocks may differ by minutes;
 * what was heard by the quickest reply of late is off by half its way at most.
 */

/** A reply that took longer than the quickest by this factor tells less than what is known. */
const TOLERANCE = 1.5;
/** How fast the quickest is forgotten: routes change, clocks drift. */
const FORGET = 1.01;

export class RedisTime {
  #offsetMs: number | undefined = undefined;
  #quickestMs = Number.POSITIVE_INFINITY;
  #forgottenAt = Number.NEGATIVE_INFINITY;

  /** Redis said that it was `redisMs`, in reply to what was sent at `sentAt` and came back at `receivedAt`. */
  record(redisMs: number, sentAt: number, receivedAt: number): void {
    // It waited for the connection, and was sent when that was made. Or another node has answered, and it is known better.
    if (sentAt < this.#forgottenAt && this.isKnown) return;
    const from = Math.max(sentAt, this.#forgottenAt);
    const tookMs = receivedAt - from;
    this.#quickestMs *= FORGET;
    if (tookMs > this.#quickestMs * TOLERANCE) return;
    this.#quickestMs = Math.min(this.#quickestMs, Math.max(tookMs, 0.1));
    // Whole milliseconds, rounded down: half of one is added.
    this.#offsetMs = redisMs + 0.5 - (from + receivedAt) / 2;
  }

  /** To be called when a connection was made: it may be to another node, with another clock. */
  forget(now: number): void {
    this.#offsetMs = undefined;
    this.#quickestMs = Number.POSITIVE_INFINITY;
    this.#forgottenAt = now;
  }

  get isKnown(): boolean {
    return this.#offsetMs !== undefined;
  }

  /** What Redis' clock says at `now`; undefined as long as nothing is known. */
  at(now: number): number | undefined {
    return this.#offsetMs === undefined ? undefined : now + this.#offsetMs;
  }

  /** For how long what came at `redisMs` has waited; 0 as long as nothing is known. */
  sinceMs(redisMs: number, now: number): number {
    return this.#offsetMs === undefined ? 0 : Math.max(0, now + this.#offsetMs - redisMs);
  }
}
