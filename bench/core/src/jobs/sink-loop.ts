/** The closed loop without promises: each result enqueues the next item from within its sink. */
import type { Batcher, Sink } from 'batchwise';
import { CALLERS } from './closed-loop.js';
import { Meter, type Metered, type Timing } from './meter.js';

export function sinkLoop(batcher: Batcher<number, number>, timing: Timing): Promise<Metered> {
  const meter = new Meter(timing);
  for (let i = 0; i < CALLERS; i++) batcher.enqueue(i, new Caller(batcher, meter, i));
  return meter.done;
}

class Caller implements Sink<number> {
  readonly #batcher: Batcher<number, number>;
  readonly #meter: Meter;
  #item: number;

  constructor(batcher: Batcher<number, number>, meter: Meter, first: number) {
    this.#batcher = batcher;
    this.#meter = meter;
    this.#item = first;
  }

  resolve(): void {
    this.#item = (this.#item + CALLERS) % 1_000_000_000;
    if (this.#meter.tick()) this.#batcher.enqueue(this.#item, this);
  }

  reject(error: Error): void {
    throw error;
  }
}
