/**
 * Decides whether an abandoned call counts as a failure of the upstream. Callers cancel or reach their deadline,
 * often before any response was possible: that must not count against a healthy upstream. But abandoned calls are the
 * only sign of an upstream that hangs if deadlines are shorter than the timeout of the runner.
 */
import { ServiceCurve } from 'batchwise';

/** A call in flight, and its expected duration. */
export interface PendingCall {
  readonly cost: number;
  readonly startedAt: number;
  readonly expectedMs: number | undefined;
  /** After this time the call is overdue. Undefined if the expected duration is unknown. */
  readonly dueAt: number | undefined;
}

/**
 * A call is overdue if it takes 25 % longer than expected, or by three times the relative standard deviation if that
 * is more.
 */
const MIN_MARGIN = 0.25;
const DEVIATIONS = 3;
/** An upstream that has never responded may keep callers waiting for this long in total. */
const MAX_UNANSWERED_MS = 1000;

export class OverdueCalls {
  /**
   * Learned from answered calls only. Abandoned calls would raise the expectation, so that a hanging upstream would
   * look normal.
   */
  readonly #curve = new ServiceCurve();
  readonly #pending = new Set<PendingCall>();
  #unansweredMs = 0;

  begin(cost: number, now: number): PendingCall {
    const expectedMs = this.#curve.predict(cost);
    const margin = 1 + Math.max(MIN_MARGIN, DEVIATIONS * this.#curve.spread);
    const dueAt = expectedMs === undefined ? undefined : now + margin * (this.#aheadMs(now) + expectedMs);
    const call = { cost, startedAt: now, expectedMs, dueAt };
    this.#pending.add(call);
    return call;
  }

  end(call: PendingCall): void {
    this.#pending.delete(call);
  }

  answered({ cost, startedAt }: PendingCall, now: number): void {
    this.#curve.record(cost, now - startedAt, now);
    this.#unansweredMs = 0;
  }

  /** Whether an abandoned call should have been answered before. */
  isOverdue({ startedAt, dueAt }: PendingCall, now: number): boolean {
    if (dueAt !== undefined) return now > dueAt;
    if (this.#curve.samples > 0) return false;
    this.#unansweredMs += now - startedAt;
    return this.#unansweredMs > MAX_UNANSWERED_MS;
  }

  /** The remaining time of the calls in flight, which may have to finish first. */
  #aheadMs(now: number): number {
    let aheadMs = 0;
    for (const { startedAt, expectedMs = 0 } of this.#pending)
      aheadMs += Math.max(0, startedAt + expectedMs - now);
    return aheadMs;
  }
}
