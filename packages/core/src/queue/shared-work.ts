/**
 * Callers with identical items share one computation. The entry of the first, the carrier, is queued for all
 * of them. It keeps its place when its own caller cancels, as long as another caller is left.
 */
import type { Entry } from './entry.js';

export class SharedWork {
  readonly key: unknown;
  readonly carrier: Entry;
  readonly callers = new Set<Entry>();

  constructor(key: unknown, carrier: Entry) {
    this.key = key;
    this.carrier = carrier;
    this.join(carrier);
  }

  join(entry: Entry): void {
    entry.shared = this;
    this.callers.add(entry);
  }

  /** The latest of all callers, because the computation is useful as long as one of them can be answered in time. */
  latestDeadline(targetLatencyMs: number): number {
    let latest = Number.NEGATIVE_INFINITY;
    for (const { deadline, arrivedAt } of this.callers) {
      latest = Math.max(latest, Math.min(deadline, arrivedAt + targetLatencyMs));
    }
    return latest;
  }
}

/** All shared work in flight, by key. */
export class SharedWorks {
  readonly #byKey = new Map<unknown, SharedWork>();

  find(key: unknown): SharedWork | undefined {
    return this.#byKey.get(key);
  }

  begin(key: unknown, carrier: Entry): void {
    this.#byKey.set(key, new SharedWork(key, carrier));
  }

  /** No caller can join any more: the next with the same key starts a new computation. */
  retire(work: SharedWork): void {
    if (this.#byKey.get(work.key) === work) this.#byKey.delete(work.key);
  }

  /** Ends the sharing. */
  end(work: SharedWork): void {
    this.retire(work);
    for (const caller of work.callers) caller.shared = undefined;
    work.carrier.shared = undefined;
    if (!work.carrier.settled) return;
    work.carrier.item = undefined; // kept for the other callers until now
    if (!work.carrier.isQueued) work.carrier.lane = undefined;
    work.carrier.batch = undefined;
  }
}
