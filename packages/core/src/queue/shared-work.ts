/**
 * Callers with identical items share one computation. One of them, the carrier, stands in the queue
 * for all; it keeps its place even when its own caller gives up, as long as another still waits.
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

  /** As long as one of them can still be served in time, the work is worth doing. */
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

  /** Lets nobody else join: whoever asks for the same from now on starts anew. */
  retire(work: SharedWork): void {
    if (this.#byKey.get(work.key) === work) this.#byKey.delete(work.key);
  }

  /** Ends the sharing. */
  end(work: SharedWork): void {
    this.retire(work);
    for (const caller of work.callers) caller.shared = undefined;
    work.carrier.shared = undefined;
    if (!work.carrier.settled) return;
    work.carrier.item = undefined; // these were kept for the others
    work.carrier.batch = undefined;
  }
}
