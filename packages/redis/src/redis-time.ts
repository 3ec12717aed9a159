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

  /** Redis said that it was `redisMs`, in reply to what was sent at `sentAt` and came back at `receivedAt`. */
  record(redisMs: number, sentAt: number, receivedAt: number): void {
    const tookMs = receivedAt - sentAt;
    this.#quickestMs *= FORGET;
    if (tookMs > this.#quickestMs * TOLERANCE) return;
    this.#quickestMs = Math.min(this.#quickestMs, Math.max(tookMs, 0.1));
    // Whole milliseconds, rounded down: half of one is added.
    this.#offsetMs = redisMs + 0.5 - (sentAt + receivedAt) / 2;
  }

  /** For how long what came at `redisMs` has waited; 0 as long as nothing is known. */
  sinceMs(redisMs: number, now: number): number {
    return this.#offsetMs === undefined ? 0 : Math.max(0, now + this.#offsetMs - redisMs);
  }
}
