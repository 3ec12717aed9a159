/**
 * The methods that want to send a batch while every backend has as many as it may: they stand in line, and the
 * next permit that is free is theirs. Without it the method whose batch has just ended would take the permit again,
 * and a busy one would keep out all others.
 */
import type { Clock } from 'batchwise';

export interface InLine {
  /** A permit may be free: look again. Returns false when it has nothing to send any more. */
  wake(): boolean;
}

export class PermitLine {
  readonly #clock: Clock;
  readonly #freePermits: () => number;
  /** In the order of their coming. */
  readonly #line = new Set<InLine>();
  #isDue = false;

  constructor(clock: Clock, freePermits: () => number) {
    this.#clock = clock;
    this.#freePermits = freePermits;
  }

  /** Whether a permit is free that nobody before this one waits for. If not, it stands in line from now on. */
  mayTake(method: InLine): boolean {
    if (this.#freePermits() > this.#ahead(method)) return true;
    this.#line.add(method);
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
      for (const method of [...this.#line]) if (!method.wake()) this.leave(method);
    });
  }

  #ahead(method: InLine): number {
    let ahead = 0;
    for (const other of this.#line) {
      if (other === method) break;
      ahead += 1;
    }
    return ahead;
  }
}
