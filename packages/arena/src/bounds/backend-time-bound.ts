/**
 * The least busy time of one slot that serves every item within the target, with all arrivals known in advance. A
 * lower bound for efficiency mode.
 *
 * As for goodput, batches can be assumed to be runs of consecutive items. The schedules of the first i items differ
 * only in when the slot becomes free and in its busy time. A schedule that is no better than another one in both is
 * dominated: every continuation of it is also one of the other.
 */
import type { Curve } from '../simulation/curve.js';
import { allowedMs } from '../simulation/measures.js';
import { risingDurations } from './goodput-optimum.js';

/** The schedules that are not dominated, by rising end time and falling busy time. */
interface Front {
  readonly length: number;
  readonly freeAt: Float64Array;
  readonly busyMs: Float64Array;
}

/** `arrivedAt` in ascending order. Infinity when no schedule serves all items on time. */
export function backendTimeBound(
  arrivedAt: ArrayLike<number>,
  curve: Curve,
  targetLatencyMs: number,
  maxBatchSize = curve.maxBatchSize,
): number {
  const items = arrivedAt.length;
  const durations = risingDurations(curve).subarray(0, maxBatchSize + 1);
  const latencyLimitMs = allowedMs(targetLatencyMs);
  const ring: Front[] = Array.from({ length: maxBatchSize + 1 }, () => EMPTY_SCHEDULE);
  const builder = new FrontBuilder();

  for (let done = 1; done <= items; done++) {
    const startable = arrivedAt[done - 1] as number;
    for (let size = 1; size <= Math.min(maxBatchSize, done); size++) {
      const durationMs = durations[size] as number;
      const latestStart = (arrivedAt[done - size] as number) + latencyLimitMs - durationMs;
      if (startable > latestStart) break; // as for all batches that begin with an earlier item
      builder.addBatch(ring[(done - size) % ring.length] as Front, startable, latestStart, durationMs);
    }
    ring[done % ring.length] = builder.take(arrivedAt[done] ?? Number.POSITIVE_INFINITY);
  }
  const { busyMs, length } = ring[items % ring.length] as Front;
  return length === 0 ? Number.POSITIVE_INFINITY : (busyMs[length - 1] as number);
}

const EMPTY_SCHEDULE: Front = {
  length: 1,
  freeAt: Float64Array.of(Number.NEGATIVE_INFINITY),
  busyMs: Float64Array.of(0),
};

/** Merges schedules and keeps those that are not dominated. */
class FrontBuilder {
  #length = 0;
  #freeAt = new Float64Array(64);
  #busyMs = new Float64Array(64);
  #mergedFreeAt = new Float64Array(64);
  #mergedBusyMs = new Float64Array(64);

  /** Adds the schedules that continue with one more batch. */
  addBatch(
    { length, freeAt, busyMs }: Front,
    startable: number,
    latestStart: number,
    durationMs: number,
  ): void {
    // Of the schedules that wait for the last item of the batch, the one with the least busy time.
    let next = 0;
    while (next + 1 < length && (freeAt[next + 1] as number) <= startable) next += 1;
    let end = length;
    while (end > next && (freeAt[end - 1] as number) > latestStart) end -= 1;
    if (next === end) return;

    this.#reserve(this.#length + end - next);
    const mineFreeAt = this.#freeAt;
    const mineBusyMs = this.#busyMs;
    let mine = 0;
    let merged = 0;
    let leastBusyMs = Number.POSITIVE_INFINITY;
    let endsAt = Math.max(freeAt[next] as number, startable) + durationMs;
    while (mine < this.#length || next < end) {
      let at: number;
      let busy: number;
      if (next === end || (mine < this.#length && (mineFreeAt[mine] as number) <= endsAt)) {
        at = mineFreeAt[mine] as number;
        busy = mineBusyMs[mine] as number;
        mine += 1;
      } else {
        at = endsAt;
        busy = (busyMs[next] as number) + durationMs;
        next += 1;
        endsAt = next < end ? (freeAt[next] as number) + durationMs : Number.POSITIVE_INFINITY;
      }
      if (busy >= leastBusyMs) continue;
      leastBusyMs = busy;
      // Of two schedules that end at the same time the second has the lower busy time.
      if (merged > 0 && this.#mergedFreeAt[merged - 1] === at) merged -= 1;
      this.#mergedFreeAt[merged] = at;
      this.#mergedBusyMs[merged] = busy;
      merged += 1;
    }
    this.#length = merged;
    [this.#freeAt, this.#mergedFreeAt] = [this.#mergedFreeAt, this.#freeAt];
    [this.#busyMs, this.#mergedBusyMs] = [this.#mergedBusyMs, this.#busyMs];
  }

  /** Returns the front and begins a new one. All end times before the next arrival are equivalent. */
  take(nextArrivesAt: number): Front {
    let first = 0;
    while (first + 1 < this.#length && (this.#freeAt[first + 1] as number) <= nextArrivesAt) first += 1;
    const front = {
      length: this.#length - first,
      freeAt: this.#freeAt.slice(first, this.#length),
      busyMs: this.#busyMs.slice(first, this.#length),
    };
    this.#length = 0;
    return front;
  }

  #reserve(length: number): void {
    if (length <= this.#freeAt.length && length <= this.#mergedFreeAt.length) return;
    const grown = (row: Float64Array) => {
      const longer = new Float64Array(2 * length);
      longer.set(row);
      return longer;
    };
    this.#freeAt = grown(this.#freeAt);
    this.#busyMs = grown(this.#busyMs);
    this.#mergedFreeAt = grown(this.#mergedFreeAt);
    this.#mergedBusyMs = grown(this.#mergedBusyMs);
  }
}
