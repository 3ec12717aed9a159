/**
 * The simulated device of a batch. `none` answers at once, `five-ms` waits for a timer, and `vit` takes the duration of
 * the curve; these run one batch at a time. `vit-each`, for comparison, runs all calls concurrently, each with the
 * duration of a batch of one. The last millisecond of `vit` is a busy wait over turns of the event loop, because timers
 * are up to 1 ms late. `five-ms` has no busy wait, which would take a core from a single caller.
 */
import { nowMs, percentile, setTimer } from '@batchwise/bench-harness';
import { collectIn } from '../collection.js';
import { batchMs } from '../curve.js';

export type DeviceName = 'none' | 'five-ms' | 'vit' | 'vit-each';

export interface DeviceReport {
  readonly batches: number;
  readonly items: number;
  /** The delay of batches beyond the duration of the curve. */
  readonly lateP50Ms: number;
  readonly lateP99Ms: number;
  readonly lateMaxMs: number;
}

interface Pace {
  readonly msOf: (size: number) => number;
  readonly spinMs: number;
  readonly isConcurrent?: true;
}

const PACES: Readonly<Record<DeviceName, Pace>> = {
  none: { msOf: () => 0, spinMs: 0 },
  'five-ms': { msOf: () => 5, spinMs: 0 },
  vit: { msOf: batchMs, spinMs: 1.2 },
  'vit-each': { msOf: () => batchMs(1), spinMs: 1.2, isConcurrent: true },
};

/** Longer than the largest batch, and shorter than the time between two bursts. */
const COLLECT_AFTER_MS = 30;

interface Batch {
  readonly size: number;
  readonly onDone: () => void;
}

export class Device {
  readonly #pace: Pace;
  #isInstant: boolean;
  readonly #isNone: boolean;
  readonly #queue: Batch[] = [];
  #lateMs: number[] = [];
  #isBusy = false;
  #batches = 0;
  #items = 0;

  /** With `isOn` false, batches take no time until `begin`. */
  constructor(name: DeviceName, isOn: boolean) {
    this.#pace = PACES[name];
    this.#isNone = name === 'none';
    this.#isInstant = this.#isNone || !isOn;
  }

  /** Resets the counts. */
  begin(): void {
    this.#isInstant = this.#isNone;
    this.#lateMs = [];
    this.#batches = 0;
    this.#items = 0;
  }

  run(size: number, onDone: () => void): void {
    this.#batches += 1;
    this.#items += size;
    collectIn(COLLECT_AFTER_MS);
    if (this.#isInstant) onDone();
    else if (this.#pace.isConcurrent) this.#runFor(size, onDone);
    else {
      this.#queue.push({ size, onDone });
      this.#next();
    }
  }

  report(): DeviceReport {
    const late = this.#isInstant ? [0] : this.#lateMs;
    return {
      batches: this.#batches,
      items: this.#items,
      lateP50Ms: percentile(late, 0.5),
      lateP99Ms: percentile(late, 0.99),
      lateMaxMs: percentile(late, 1),
    };
  }

  #next(): void {
    const batch = this.#isBusy ? undefined : this.#queue.shift();
    if (batch === undefined) return;
    this.#isBusy = true;
    this.#runFor(batch.size, () => {
      this.#isBusy = false;
      // The next batch starts before the response, because responses take time on this thread.
      this.#next();
      batch.onDone();
    });
  }

  /** Calls `onEnd` after the duration of a batch. */
  #runFor(size: number, onEnd: () => void): void {
    const doneAt = nowMs() + this.#pace.msOf(size);
    const finish = () => {
      const late = nowMs() - doneAt;
      if (late < 0) {
        setImmediate(finish);
        return;
      }
      this.#lateMs.push(late);
      onEnd();
    };
    setTimer(finish, doneAt - nowMs() - this.#pace.spinMs);
  }
}
