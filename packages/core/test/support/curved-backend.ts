/** A backend on virtual time with durations from a curve, and a batcher that has learned the curve. */
import { Batcher, type BatcherOptions, VirtualClock } from 'batchwise';

export class CurvedBackend {
  readonly clock = new VirtualClock();
  /** All executed items, each with the start of its batch. */
  readonly executed: { readonly item: number; readonly at: number }[] = [];
  durationMs: (size: number) => number;

  constructor(durationMs: (size: number) => number) {
    this.durationMs = durationMs;
  }

  readonly handler = (items: number[]): Promise<number[]> => {
    const at = this.clock.now();
    for (const item of items) this.executed.push({ item, at });
    return new Promise((resolve) => {
      this.clock.setTimer(() => resolve(items), this.durationMs(items.length));
    });
  };

  batcher(options: BatcherOptions<number> = {}): Batcher<number, number> {
    return new Batcher(this.handler, { clock: this.clock, ...options });
  }

  /** A batcher that has measured a batch of every size. */
  async knownTo(
    maxBatchSize: number,
    options: BatcherOptions<number> = {},
  ): Promise<Batcher<number, number>> {
    const batcher = this.batcher({ maxBatchSize });
    for (let size = 1; size <= maxBatchSize; size++) {
      for (let item = 0; item < size; item++) batcher.submit(item).catch(() => {});
      await this.clock.advance(this.durationMs(size));
    }
    this.executed.length = 0;
    batcher.configure(options);
    return batcher;
  }
}
