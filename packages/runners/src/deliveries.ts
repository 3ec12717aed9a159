/**
 * Answers on their way to those who asked. To write one down and send it takes as long as a small model
 * computes it. Handed out all at once, as soon as a batch is back, they would keep the backend idle until the
 * last is sent; and those who ask again would come back all at once too, to wait for each other ever after.
 *
 * So the next batch leaves first, and then they go out a few at a time, with room in between for those who come.
 */
import type { Clock } from 'batchwise';
import type { BatchTrace, RunnerSink } from './runner.js';

/** Of a model that takes 27 µs a row, anything from 8 to 32 at a time served 30 % more than all at once. */
const AT_A_TIME = 16;
/** And so much of what is left: turns may be long, and what comes in a turn must be able to leave in one. */
const SHARE = 1 / 2;

interface Delivery<R> {
  readonly sink: RunnerSink<R>;
  readonly result: R;
  readonly trace: BatchTrace;
}

export class Deliveries<R> {
  readonly #clock: Clock;
  #due: Delivery<R>[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(sink: RunnerSink<R>, result: R, trace: BatchTrace): void {
    // Not at once: the batcher asks for the end of the turn when all of a batch are told, and is to come first.
    if (this.#due.length === 0) queueMicrotask(() => this.#clock.defer(this.#goOn));
    this.#due.push({ sink, result, trace });
  }

  /** Hands out all that is left, now. */
  flush(): void {
    while (this.#due.length > 0) this.#deliver(this.#due.length);
  }

  readonly #goOn = (): void => {
    this.#deliver(Math.max(AT_A_TIME, Math.ceil(SHARE * this.#due.length)));
    if (this.#due.length > 0) this.#clock.defer(this.#goOn);
  };

  #deliver(count: number): void {
    for (const { sink, result, trace } of this.#due.splice(0, count)) {
      try {
        sink.resolve(result, trace);
      } catch (error) {
        // As the batcher does it: a sink that throws is its owner's mistake, and hurts nobody else.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
