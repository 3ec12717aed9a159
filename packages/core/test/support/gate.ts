/** A handler whose calls stay pending until the test answers them. */
import { type BatchContext, Batcher, type BatcherOptions, VirtualClock } from 'batchwise';

export interface GatedCall<I, R> {
  readonly items: I[];
  readonly context: BatchContext;
  answer(results: R[]): void;
  fail(error: unknown): void;
}

export class Gate<I, R> {
  /** Every call so far, answered or not. */
  readonly calls: GatedCall<I, R>[] = [];

  readonly handler = (items: I[], context: BatchContext): Promise<R[]> =>
    new Promise((resolve, reject) => {
      this.calls.push({ items, context, answer: resolve, fail: reject });
    });

  get batches(): I[][] {
    return this.calls.map(({ items }) => items);
  }

  call(index: number): GatedCall<I, R> {
    const call = this.calls[index];
    if (call === undefined)
      throw new Error(`The handler was called ${this.calls.length} times, not ${index + 1}.`);
    return call;
  }
}

/** A batcher on virtual time with a gated handler. */
export function gated(options: BatcherOptions<number> = {}) {
  const clock = new VirtualClock();
  const gate = new Gate<number, number>();
  const batcher = new Batcher(gate.handler, { clock, ...options });
  return { clock, gate, batcher };
}
