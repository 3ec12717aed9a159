/** Waits that double, for something that keeps failing. */
export interface BackOffOptions {
  readonly firstMs: number;
  readonly mostMs: number;
}

export class BackOff {
  readonly #options: BackOffOptions;
  #nextMs: number;

  constructor(options: BackOffOptions) {
    this.#options = options;
    this.#nextMs = options.firstMs;
  }

  /** How long to wait before the next attempt. */
  next(): number {
    const delayMs = this.#nextMs;
    this.#nextMs = Math.min(2 * delayMs, this.#options.mostMs);
    return delayMs;
  }

  reset(): void {
    this.#nextMs = this.#options.firstMs;
  }
}
