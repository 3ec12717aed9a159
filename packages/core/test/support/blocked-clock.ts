/** A virtual clock on which a handler can block the thread: time passes and no timer fires. */
import { type Clock, VirtualClock } from 'batchwise';

export class BlockedClock implements Clock {
  readonly #free = new VirtualClock();
  #blockedMs = 0;

  now(): number {
    return this.#free.now() + this.#blockedMs;
  }

  block(ms: number): void {
    this.#blockedMs += ms;
  }

  setTimer(callback: () => void, delayMs: number): unknown {
    return this.#free.setTimer(callback, delayMs);
  }

  clearTimer(timer: unknown): void {
    this.#free.clearTimer(timer);
  }

  defer(callback: () => void): void {
    this.#free.defer(callback);
  }

  advance(ms: number): Promise<void> {
    return this.#free.advance(ms);
  }
}
