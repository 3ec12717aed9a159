/**
 * Rejects admitted items by a timer once they have missed the target by the duration of one batch. The policy rejects
 * such items too, but only when it decides about their group. While all slots are busy, or other groups, tenants and
 * priorities are served first, that can take many times the target.
 */
import type { Dispatcher } from './dispatcher.js';

/** Shortest time between two sweeps, as a share of the limit: bounds the cost with thousands of groups. */
const SWEEP_INTERVAL = 1 / 32;
const NEVER = Number.POSITIVE_INFINITY;

export class Overdue {
  readonly #dispatcher: Dispatcher;
  #sweepAt = NEVER;
  /** When the queue was last inspected, and the arrival of the oldest item then. */
  #inspectedAt = 0;
  #oldestAt = NEVER;

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
  }

  /** To be called for an item that may be older than the items queued before it. */
  hasOlder(arrivedAt: number): void {
    if (this.#oldestAt !== NEVER) this.#oldestAt = Math.min(this.#oldestAt, arrivedAt);
  }

  /** When to sweep next; Infinity while no queued item can become overdue. */
  sweepAt(now: number): number {
    const { queue } = this.#dispatcher;
    const limitMs = queue.length === 0 ? NEVER : this.#limitMs();
    if (limitMs === NEVER) this.#oldestAt = NEVER;
    else if (this.#oldestAt === NEVER) {
      this.#inspectedAt = now;
      this.#oldestAt = queue.oldestAt;
    }
    // The limit changes with the settings and with what is learned.
    this.#sweepAt = Math.max(this.#oldestAt + limitMs, this.#inspectedAt + limitMs * SWEEP_INTERVAL);
    return this.#sweepAt;
  }

  /** Rejects the overdue items if a sweep is due. */
  reject(now: number): void {
    if (now < this.#sweepAt) return;
    this.#sweepAt = NEVER;
    this.#oldestAt = NEVER;
    const { queue, removal, placement } = this.#dispatcher;
    const { hasFreeSlot } = placement;
    for (const [group, callers] of queue.arrivedBy(now - this.#limitMs())) {
      // A slot is free, and the policy holds the group on purpose: a window that is longer than the target.
      if (hasFreeSlot && group.isHeld) continue;
      removal.rejectCallers(callers, group, now);
    }
  }

  /** How long an item may be queued; Infinity without a target, and until the first batch has been measured. */
  #limitMs(): number {
    const { curve, isOpen, settings } = this.#dispatcher;
    const { admission, maxBatchSize, targetLatencyMs } = settings;
    if (!admission || !isOpen || targetLatencyMs === NEVER) return NEVER;
    const batch = curve.bestSize(maxBatchSize);
    return batch === undefined ? NEVER : targetLatencyMs + (curve.upper(batch.cost) as number);
  }
}
