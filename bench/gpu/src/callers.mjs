/**
 * What the client processes have in common: callers who each wait for an answer before they ask again, and one
 * line of JSON on stdout at the end. The timed part begins at the same instant in all processes.
 */
import { Histogram } from './histogram.mjs';

/** An item: 64 tokens of int64. The first is the caller's number, which comes back as the first float. */
export const ROW_BYTES = 64 * 8;
/** Floats hold integers exactly up to here. */
const MOST_EXACT = 2 ** 24;

export function newRow() {
  const row = Buffer.alloc(ROW_BYTES);
  for (let at = 0; at < 64; at++) row.writeUInt32LE(1 + ((at * 7919) % 30_000), at * 8);
  return row;
}

export class Callers {
  #options;
  #latencies = new Histogram();
  #batchSizes = new Map();
  #failures = new Map();
  #sent = 0;
  #failed = 0;
  #answered = 0;
  #last = Math.floor(Math.random() * MOST_EXACT);

  /** `startAt` is an epoch time, `warmupMs` before it everybody already asks. */
  constructor(options) {
    this.#options = options;
  }

  get isOver() {
    return Date.now() >= this.#options.startAt + this.#options.timedMs;
  }

  nextNumber() {
    this.#sent += 1;
    this.#last = (this.#last + 1) % MOST_EXACT;
    return this.#last;
  }

  answered(sentAt, isOwn, batchSize) {
    const now = Date.now();
    if (!isOwn) this.failed('an answer that is not the caller’s own');
    else if (now >= this.#options.startAt && now < this.#options.startAt + this.#options.timedMs) {
      this.#answered += 1;
      this.#latencies.add(performance.now() - sentAt);
      if (batchSize > 0) this.#batchSizes.set(batchSize, (this.#batchSizes.get(batchSize) ?? 0) + 1);
    }
  }

  failed(why) {
    this.#failed += 1;
    this.#failures.set(why, (this.#failures.get(why) ?? 0) + 1);
  }

  report() {
    return JSON.stringify({
      perSecond: (1000 * this.#answered) / this.#options.timedMs,
      sent: this.#sent,
      failed: this.#failed,
      failures: Object.fromEntries(this.#failures),
      latencies: this.#latencies,
      batchSizes: [...this.#batchSizes],
    });
  }

  /** Says what became of it once the time is over and a little is left for what is under way. */
  end() {
    const leftMs = this.#options.startAt + this.#options.timedMs - Date.now();
    setTimeout(() => process.stdout.write(`${this.report()}\n`, () => process.exit(0)), leftMs + 300);
  }
}
