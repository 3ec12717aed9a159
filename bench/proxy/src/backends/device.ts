/**
 * What a batch runs on: nothing, which is done at once, a plain timer, or a device that takes as long as the curve
 * says. Both do one batch at a time; a device for each call, to compare with, does them all at once, and each takes as
 * long as if it were alone. The device's last millisecond is waited for turn by turn of the event loop, as
 * timers are up to one late; not the timer's, whose waiting would take a core from a caller who is alone.
 */
import { nowMs, percentile, setTimer } from '@batchwise/bench-harness';
import { collectIn } from '../collection.js';
import { batchMs } from '../curve.js';

export type DeviceName = 'none' | 'five-ms' | 'vit' | 'vit-each';

export interface DeviceReport {
  readonly batches: number;
  readonly items: number;
  /** How much later than the curve says batches were done. */
  readonly lateP50Ms: number;
  readonly lateP99Ms: number;
  readonly lateMaxMs: number;
}

interface Pace {
  readonly msOf: (size: number) => number;
  readonly spinMs: number;
  readonly isForEach?: true;
}

const PACES: Readonly<Record<DeviceName, Pace>> = {
  none: { msOf: () => 0, spinMs: 0 },
  'five-ms': { msOf: () => 5, spinMs: 0 },
  vit: { msOf: batchMs, spinMs: 1.2 },
  'vit-each': { msOf: () => batchMs(1), spinMs: 1.2, isForEach: true },
};

/** Longer than the largest batch, shorter than from one burst to the next. */
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

  /** One that is not on takes no time until `begin`. */
  constructor(name: DeviceName, isOn: boolean) {
    this.#pace = PACES[name];
    this.#isNone = name === 'none';
    this.#isInstant = this.#isNone || !isOn;
  }

  /** What was before is forgotten. */
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
    else if (this.#pace.isForEach) this.#take(size, onDone);
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
    this.#take(batch.size, () => {
      this.#isBusy = false;
      // The device goes on before anybody is told: answers cost time on this thread.
      this.#next();
      batch.onDone();
    });
  }

  /** Lets the time of a batch pass. */
  #take(size: number, onOver: () => void): void {
    const doneAt = nowMs() + this.#pace.msOf(size);
    const finish = () => {
      const late = nowMs() - doneAt;
      if (late < 0) {
        setImmediate(finish);
        return;
      }
      this.#lateMs.push(late);
      onOver();
    };
    setTimer(finish, doneAt - nowMs() - this.#pace.spinMs);
  }
}
