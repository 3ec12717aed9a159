/**
 * BentoML's adaptive batching. It believes that a batch of n takes a·n + b, fitted over the last 50
 * batches at most every 5 s; looks at the queue once a millisecond; waits for company while
 * n·(age of the newest + 1 ms + a) ≤ 0.95·(average wait); and sheds the head when
 * age of the oldest + a·n + b ≥ the target, its `max_latency`.
 *
 * Where the description leaves a choice:
 * - The wait of a batch is that of its newest item when it leaves, as the rule compares it with the
 *   newest item's age. It is averaged over the same 50 batches, when the line is fitted.
 * - n is all that waits, also beyond the largest batch. The last one is never shed: with it alone in
 *   the queue there is nobody to make room for.
 * - It begins with guesses (a and b a fifteenth and a thirtieth of the target, a wait of 10 ms), and
 *   trains: the first two batches are not counted; until the fit has seen batches of one, two and three
 *   they are no larger than that, it is renewed after each of them, and only what is past the target
 *   is shed. Without that it would go on shedding for 5 s by a line through a single batch.
 * - It looks once a millisecond at whether a slot is free, too. Shedding while all slots are busy is made
 *   up for when one is free; it would come to the same items, as age and n only grow meanwhile.
 * - Each slot is a worker with one batch in flight; they share one queue and one line.
 */
import type { CompletedBatch, Decision, Policy, QueueView } from 'batchwise';

const POLL_MS = 1;
const KEPT_BATCHES = 50;
const REFRESH_MS = 5000;
const DECAY = 0.95;
const SKIPPED_BATCHES = 2;
/** The batch sizes it trains on, one batch each. */
const TRAINING_SIZES = [1, 2, 3];
const FIRST_WAIT_MS = 10;
const MOST_FIRST_SLOPE_MS = 2000;
const MOST_FIRST_INTERCEPT_MS = 1000;
const LEAST_SLOPE_MS = 0.001;
/** Sums of fractions are off by a hair. */
const HAIR_MS = 1e-9;

interface Sample {
  readonly x: number;
  readonly y: number;
  readonly waitMs: number;
}

export function bentoml(targetMs: number): Policy {
  return new BentomlPolicy(targetMs);
}

class BentomlPolicy implements Policy {
  readonly name = 'bentoml';
  readonly #targetMs: number;
  #line: Line;
  #averageWaitMs = FIRST_WAIT_MS;
  readonly #samples: Sample[] = [];
  #batchesSeen = 0;
  #fittedAt = Number.NEGATIVE_INFINITY;
  /** What the newest of each running batch waited, by the batch's start. */
  readonly #waits = new Map<number, number>();
  readonly #polls = new Polls();

  constructor(targetMs: number) {
    this.#targetMs = targetMs;
    this.#line = {
      slope: Math.min(MOST_FIRST_SLOPE_MS, targetMs / 15),
      intercept: Math.min(MOST_FIRST_INTERCEPT_MS, targetMs / 30),
    };
  }

  decide(view: QueueView, now: number): Decision {
    const pollAt = this.#polls.next(view.arrivedAt(0), now);
    if (pollAt > now) return { action: 'wait', until: pollAt, wakeOnBatchEnd: false };
    const refuse = this.#shed(view, now);
    const waiting = view.length - refuse;
    if (!this.#isTraining && this.#isWorthWaiting(view, waiting, now)) {
      return { action: 'wait', until: this.#polls.after(now), wakeOnBatchEnd: false, refuse };
    }
    const most = Math.min(view.limits.maxBatchSize, this.#trainingSize);
    const count = Math.min(waiting, most);
    this.#waits.set(now, Math.max(0, now - newestOf(view, refuse, count)));
    if (count === waiting) this.#polls.pause();
    return { action: 'dispatch', count, reason: count === most ? 'full' : 'idle', refuse };
  }

  observeBatch({ size, durationMs, startedAt }: CompletedBatch, now: number): void {
    const waitMs = this.#waits.get(startedAt) ?? 0;
    this.#waits.delete(startedAt);
    const wasTraining = this.#isTraining;
    this.#batchesSeen += 1;
    if (this.#batchesSeen <= SKIPPED_BATCHES) return;
    this.#samples.push({ x: size, y: durationMs, waitMs });
    if (this.#samples.length > KEPT_BATCHES) this.#samples.shift();
    if (wasTraining || now >= this.#fittedAt + REFRESH_MS) this.#fit(now);
  }

  #fit(now: number): void {
    this.#fittedAt = now;
    const { slope, intercept } = lineFit(this.#samples);
    this.#line = { slope: Math.max(LEAST_SLOPE_MS, slope), intercept: Math.max(0, intercept) };
    this.#averageWaitMs = this.#samples.reduce((sum, { waitMs }) => sum + waitMs, 0) / this.#samples.length;
  }

  get #isTraining(): boolean {
    return this.#batchesSeen < SKIPPED_BATCHES + TRAINING_SIZES.length;
  }

  get #trainingSize(): number {
    if (!this.#isTraining) return Number.POSITIVE_INFINITY;
    return TRAINING_SIZES[Math.max(0, this.#batchesSeen - SKIPPED_BATCHES)] as number;
  }

  /** How many at the head are shed. */
  #shed(view: QueueView, now: number): number {
    const { slope, intercept } = this.#line;
    let shed = 0;
    for (let waiting = view.length; waiting > 1; waiting--) {
      const serviceMs = this.#isTraining ? 0 : slope * waiting + intercept;
      if (now - view.arrivedAt(shed) + serviceMs < this.#targetMs) break;
      shed += 1;
    }
    return shed;
  }

  #isWorthWaiting({ limits, arrivals }: QueueView, waiting: number, now: number): boolean {
    if (waiting >= limits.maxBatchSize) return false;
    const newestAgeMs = Math.max(0, now - arrivals.lastAt);
    return waiting * (newestAgeMs + POLL_MS + this.#line.slope) <= DECAY * this.#averageWaitMs;
  }
}

/** When the newest of a batch came. Of all that waits it is the latest arrival, if that is recorded yet. */
function newestOf(view: QueueView, first: number, count: number): number {
  if (first + count < view.length) return view.arrivedAt(first + count - 1);
  return Math.max(view.arrivedAt(first), view.arrivals.lastAt);
}

/** When the queue is looked at: when something comes into an empty one, and every millisecond from then on. */
class Polls {
  #last: number | undefined;
  #promised = Number.POSITIVE_INFINITY;

  /** When the next look is due, `now` if it is; `firstAt` is when the first came that waits. */
  next(firstAt: number, now: number): number {
    this.#last ??= firstAt;
    const due = this.#last + POLL_MS * Math.ceil((now - this.#last) / POLL_MS - HAIR_MS);
    // A timer may ring late; the next millisecond is counted from then.
    if (due > now + HAIR_MS && now < this.#promised) {
      this.#promised = due;
      return due;
    }
    this.#last = now;
    this.#promised = Number.POSITIVE_INFINITY;
    return now;
  }

  /** When to look again, after a look that decided to wait. */
  after(now: number): number {
    this.#promised = now + POLL_MS;
    return this.#promised;
  }

  /** Nothing waits any more. */
  pause(): void {
    this.#last = undefined;
  }
}

export interface Line {
  readonly slope: number;
  readonly intercept: number;
}

/**
 * The line through points with the least squares. Through points that are all at one x there are many,
 * equally good; then it is the one whose slope and intercept are smallest together, as linear algebra
 * packages answer. That is how a backend seen at one batch size only is taken for one without overhead.
 */
export function lineFit(points: readonly { readonly x: number; readonly y: number }[]): Line {
  const count = points.length;
  let sumX = 0;
  let sumY = 0;
  for (const { x, y } of points) {
    sumX += x;
    sumY += y;
  }
  const meanX = sumX / count;
  const meanY = sumY / count;
  let squares = 0;
  let products = 0;
  for (const { x, y } of points) {
    squares += (x - meanX) ** 2;
    products += (x - meanX) * (y - meanY);
  }
  if (squares === 0) {
    const intercept = meanY / (meanX * meanX + 1);
    return { slope: meanX * intercept, intercept };
  }
  const slope = products / squares;
  return { slope, intercept: meanY - slope * meanX };
}
