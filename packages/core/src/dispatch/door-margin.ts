/**
 * How much sooner than it must be the door plans to be done. A prediction that is right on average is wrong half of the
 * time for those at the limit: they are let in, and sent away after a wait, when a batch took longer than expected. So
 * the door learns from those: each widens the margin, until few enough of all who are let in are sent away.
 */

/** What one who was sent away adds to the margin, as a share of the time allowed. */
const STEP = 0.002;
/** How many of those who are let in may have to be sent away after all. */
const TOLERATED = 0.0005;
/** The most of the time allowed that is given up. */
const MOST = 0.5;
/** So many batches may always be ahead: a shorter queue would run dry, and less be done. */
const LEAST_BATCHES = 3;

export class DoorMargin {
  #share = 0;

  /** So many who had been let in were sent away, because they could no longer make it. */
  sentAway(count: number): void {
    this.#share = Math.min(MOST, this.#share + count * STEP);
  }

  served(count: number): void {
    this.#share = Math.max(0, this.#share - count * STEP * TOLERATED);
  }

  /** The backend has changed: those who were sent away tell nothing of how well it is predicted from now on. */
  forget(): void {
    this.#share = 0;
  }

  /** What to count on of the time that is allowed, where a batch takes so long. */
  within(allowedMs: number, batchMs: number): number {
    if (this.#share === 0) return allowedMs;
    return Math.min(allowedMs, Math.max(allowedMs * (1 - this.#share), LEAST_BATCHES * batchMs));
  }
}
