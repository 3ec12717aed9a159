/** Requests under way whose ends are told by callbacks: each is told once, and those that are left at the end as well. */
import type { Outcome } from './target.js';

type Tell = (outcome: Outcome) => void;

export class InFlight {
  readonly #ends = new Set<Tell>();
  #turn = 0;
  #isTurnCounted = false;

  /**
   * The result ends the request; a second end is ignored.
   *
   * `done` is called in a later turn of the event loop than the request was sent in. A user without pauses sends its
   * next request as soon as it is told; where the end is known at once (a function that throws, a channel that is
   * down), the loop would never get to timers and sockets.
   */
  begin(done: Tell): Tell {
    const sentIn = this.#currentTurn();
    const end = (outcome: Outcome) => {
      if (!this.#ends.delete(end)) return;
      if (this.#turn !== sentIn) done(outcome);
      else setImmediate(done, outcome);
    };
    this.#ends.add(end);
    return end;
  }

  stop(): void {
    for (const end of [...this.#ends]) end({ kind: 'failed', reason: 'stopped', responseBytes: 0 });
  }

  #currentTurn(): number {
    if (!this.#isTurnCounted) {
      this.#isTurnCounted = true;
      setImmediate(() => {
        this.#isTurnCounted = false;
        this.#turn++;
      });
    }
    return this.#turn;
  }
}
