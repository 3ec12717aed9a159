/**
 * Whether a call that was given up says something of the upstream. Callers leave and have deadlines, often before
 * anybody could have answered: that must not speak against one that is well. But one that hangs gives nothing else to
 * go by, where deadlines are shorter than the time-out of the runner.
 */
import { ServiceCurve } from 'batchwise';

/** A call that runs, and how long it should. */
export interface AwaitedCall {
  readonly cost: number;
  readonly startedAt: number;
  readonly expectedMs: number | undefined;
  /** From then on it takes clearly too long; undefined when nothing is known. */
  readonly dueAt: number | undefined;
}

/** By so much, or by so many times the spread of what it took before. */
const CLEARLY = 0.25;
const SPREADS = 3;
/** One that has never answered anything may keep its callers waiting in vain for so long, in all. */
const NEVER_ANSWERED_MS = 1000;

export class Patience {
  /** Of answers only: what was given up would make the next that hangs look usual. */
  readonly #curve = new ServiceCurve();
  readonly #awaited = new Set<AwaitedCall>();
  #inVainMs = 0;

  begin(cost: number, now: number): AwaitedCall {
    const expectedMs = this.#curve.predict(cost);
    const margin = 1 + Math.max(CLEARLY, SPREADS * this.#curve.spread);
    const dueAt = expectedMs === undefined ? undefined : now + margin * (this.#aheadMs(now) + expectedMs);
    const call = { cost, startedAt: now, expectedMs, dueAt };
    this.#awaited.add(call);
    return call;
  }

  end(call: AwaitedCall): void {
    this.#awaited.delete(call);
  }

  answered({ cost, startedAt }: AwaitedCall, now: number): void {
    this.#curve.record(cost, now - startedAt, now);
    this.#inVainMs = 0;
  }

  /** It was given up: true when it should have been answered long before. */
  isOverdue({ startedAt, dueAt }: AwaitedCall, now: number): boolean {
    if (dueAt !== undefined) return now > dueAt;
    if (this.#curve.samples > 0) return false;
    this.#inVainMs += now - startedAt;
    return this.#inVainMs > NEVER_ANSWERED_MS;
  }

  /** What runs there may have to end first. */
  #aheadMs(now: number): number {
    let aheadMs = 0;
    for (const { startedAt, expectedMs = 0 } of this.#awaited)
      aheadMs += Math.max(0, startedAt + expectedMs - now);
    return aheadMs;
  }
}
