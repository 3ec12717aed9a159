/**
 * Streams with all answers but without trailers. Usually the trailers follow at once. A backend that never ends its
 * streams would exhaust its stream limit, so they are reset after a timeout. One timer serves all streams.
 */
import type { OutgoingCall } from '@batchwise/grpc';
import type { Clock } from 'batchwise';

const END_TIMEOUT_MS = 5000;
/** Bounds the memory for a backend that never ends its streams. */
const MAX_EXPECTED = 1000;

export class OpenStreamEnds {
  readonly #clock: Clock;
  /** The streams and the time of their last answer, oldest first. */
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
    if (this.#expected.size > MAX_EXPECTED) {
      const [oldest] = this.#expected.keys();
      if (oldest !== undefined) this.#reset(oldest);
    }
    this.#timer ??= this.#clock.setTimer(this.#sweep, END_TIMEOUT_MS);
  }

  ended(call: OutgoingCall): void {
    this.#expected.delete(call);
  }

  stop(): void {
    this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
    this.#expected.clear();
  }

  #reset(call: OutgoingCall): void {
    this.#expected.delete(call);
    call.cancel();
  }

  readonly #sweep = (): void => {
    this.#timer = undefined;
    const now = this.#clock.now();
    for (const [call, since] of this.#expected) {
      if (now - since < END_TIMEOUT_MS) break;
      this.#reset(call);
    }
    if (this.#expected.size > 0) this.#timer = this.#clock.setTimer(this.#sweep, END_TIMEOUT_MS);
  };
}
