/** How long to wait before a connection is tried again. */
export interface BackoffOptions {
  /** Before the second try. @default 200 */
  readonly initialMs?: number | undefined;
  /** Never longer, but for the jitter: a peer that is back should not wait for us. @default 1000 */
  readonly maxMs?: number | undefined;
}

const FACTOR = 1.6;
const JITTER = 0.2;

/** Grows with every failure, with a jitter that keeps many clients of one dead peer from coming back together. */
export class Backoff {
  readonly #initialMs: number;
  readonly #maxMs: number;
  readonly #random: () => number;
  #nextMs: number;

  constructor({ initialMs = 200, maxMs = 1000 }: BackoffOptions = {}, random: () => number = Math.random) {
    this.#initialMs = initialMs;
    this.#maxMs = maxMs;
    this.#random = random;
    this.#nextMs = initialMs;
  }

  /** Another failure: how long to wait now. */
  next(): number {
    const delayMs = Math.min(this.#nextMs, this.#maxMs);
    this.#nextMs = Math.min(this.#maxMs, this.#nextMs * FACTOR);
    return delayMs * (1 - JITTER + 2 * JITTER * this.#random());
  }

  reset(): void {
    this.#nextMs = this.#initialMs;
  }
}
