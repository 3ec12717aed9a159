/**
 * Streams whose answers are all in and whose end is not: it comes right behind, as a rule. A backend that never
 * ends them would use up its own limit of streams, so after a while they are reset. One timer for all of them.
 */
import type { OutgoingCall } from '@batchwise/grpc';
import type { Clock } from 'batchwise';

const PATIENCE_MS = 5000;
/** A backend that never ends its streams shall not fill the memory meanwhile. */
const MOST_EXPECTED = 1000;

export class LateEnds {
  readonly #clock: Clock;
  /** By since when, in the order of their coming. */
  readonly #expected = new Map<OutgoingCall, number>();
  #timer: unknown = undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#expected.size;
  }

  expect(call: OutgoingCall): void {
    this.#expected.set(call, this.#clock.now());
    if (this.#expected.size > MOST_EXPECTED) {
      const [oldest] = this.#expected.keys();
      if (oldest !== undefined) this.#giveUp(oldest);
    }
    this.#timer ??= this.#clock.setTimer(this.#sweep, PATIENCE_MS);
  }

  ended(call: OutgoingCall): void {
    this.#expected.delete(call);
  }

  stop(): void {
    this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
    this.#expected.clear();
  }

  #giveUp(call: OutgoingCall): void {
    this.#expected.delete(call);
    call.cancel();
  }

  readonly #sweep = (): void => {
    this.#timer = undefined;
    const now = this.#clock.now();
    for (const [call, since] of this.#expected) {
      if (now - since < PATIENCE_MS) break;
      this.#giveUp(call);
    }
    if (this.#expected.size > 0) this.#timer = this.#clock.setTimer(this.#sweep, PATIENCE_MS);
  };
}
