/** A backend on virtual time with one duration for every batch; it records the executed items. */
import type { VirtualClock } from 'batchwise';

export class TimedBackend<I> {
  /** The items in the order in which they were executed, with the start of their batch. */
  readonly executed: { readonly item: I; readonly at: number }[] = [];
  readonly #clock: VirtualClock;
  readonly #durationMs: number;

  constructor(clock: VirtualClock, durationMs: number) {
    this.#clock = clock;
    this.#durationMs = durationMs;
  }

  readonly handler = (items: I[]): Promise<I[]> => {
    const at = this.#clock.now();
    for (const item of items) this.executed.push({ item, at });
    return new Promise((resolve) => {
      this.#clock.setTimer(() => resolve(items), this.#durationMs);
    });
  };
}
