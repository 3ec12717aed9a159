/**
 * The methods that want to send a batch while every backend has as many as it may. The next permit that is free goes to
 * the method in which the tenant waits that has used the least slot time; among equals, to the one that waits longest. So
 * a tenant gets no more slots by spreading its calls over many methods.
 */
import type { Clock } from 'batchwise';

export interface InLine {
  /** Slot time that the tenant has used that was served least, of those that wait here; Infinity when none waits. */
  readonly servedMs: number;
  /** A permit may be free: look again, and ask for it where it is wanted. */
  wake(): void;
}

export class PermitLine {
  readonly #clock: Clock;
  readonly #freePermits: () => number;
  /** In the order of their coming, and whether each has asked for a permit since it was last woken. */
  readonly #line = new Map<InLine, boolean>();
  #isDue = false;

  constructor(clock: Clock, freePermits: () => number) {
    this.#clock = clock;
    this.#freePermits = freePermits;
  }

  /** Whether a permit is free that no method in line has a better claim to. If not, it stands in line from now on. */
  mayTake(method: InLine): boolean {
    if (this.#freePermits() > this.#ahead(method)) return true;
    this.#line.set(method, true);
    return false;
  }

  /** It has had its turn, or wants none any more: those behind it move up. */
  leave(method: InLine): void {
    if (this.#line.delete(method)) this.wake();
  }

  /** Has those in line look again, at the end of the turn, because a batch that ends may let several leave. */
  wake(): void {
    if (this.#isDue || this.#line.size === 0) return;
    this.#isDue = true;
    this.#clock.defer(() => {
      this.#isDue = false;
      const waiting = [...this.#line.keys()].map((method) => ({ method, servedMs: method.servedMs }));
      // Stable: among equals the order of their coming.
      waiting.sort((a, b) => (a.servedMs === b.servedMs ? 0 : a.servedMs - b.servedMs));
      for (const { method } of waiting) {
        if (this.#freePermits() <= 0) break;
        this.#line.set(method, false);
        method.wake();
        // It has nothing to send any more, or what it has is held for another reason.
        if (this.#line.get(method) === false) this.leave(method);
      }
    });
  }

  #ahead(method: InLine): number {
    const { servedMs } = method;
    let ahead = 0;
    let isBehind = true;
    for (const other of this.#line.keys()) {
      if (other === method) isBehind = false;
      else if (other.servedMs < servedMs || (isBehind && other.servedMs === servedMs)) ahead += 1;
    }
    return ahead;
  }
}
