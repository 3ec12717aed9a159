/**
 * BentoML's adaptive batching. Its model of the duration of a batch of n is a·n + b, fitted over the last 50 batches at
 * most every 5 s. It polls the queue every millisecond, holds while
 * n·(age of the newest + 1 ms + a) ≤ 0.95·(average wait), and sheds the head when
 * age of the oldest + a·n + b ≥ the target, its `max_latency`.
 *
 * Where the description is ambiguous:
 * - The wait of a batch is the queue wait of its newest item at dispatch, because the rule compares it with the age of
 *   the newest item. It is averaged over the same 50 batches, when the line is fitted.
 * - n is the queue length, also beyond the maximum batch size. The last item of the queue is never shed.
 * - It begins with guesses (a and b are 1/15 and 1/30 of the target, the wait is 10 ms) and a training phase: the first
 *   two batches do not count; the next three have sizes 1, 2 and 3, the line is fitted after each of them, and only
 *   items that are past the target are shed. Otherwise it would shed for 5 s because of a line through one batch.
 * - It polls for free slots every millisecond, too. Items to shed while all slots are busy are shed when one is free:
 *   they are the same items, because age and n only grow meanwhile.
 * - Each slot is a worker with one batch in flight; the workers share one queue and one line.
 */
import type { CompletedBatch, Decision, Policy, QueueView } from 'batchwise';

const POLL_MS = 1;
const KEPT_BATCHES = 50;
const REFRESH_MS = 5000;
const DECAY = 0.95;
const SKIPPED_BATCHES = 2;
/** The batch sizes of the training phase, one batch each. */
const TRAINING_SIZES = [1, 2, 3];
const FIRST_WAIT_MS = 10;
const MAX_FIRST_SLOPE_MS = 2000;
const MAX_FIRST_INTERCEPT_MS = 1000;
const MIN_SLOPE_MS = 0.001;
/** Tolerance for the rounding of floating-point sums. */
const ROUNDING_MS = 1e-9;

interface Sample {
  readonly x: number;
  readonly y: number;
  readonly waitMs: number;
}

export function bentoml(targetLatencyMs: number): Policy {
  return new BentomlPolicy(targetLatencyMs);
}

class BentomlPolicy implements Policy {
  readonly name = 'bentoml';
  readonly #targetLatencyMs: number;
  #line: Line;
  #averageWaitMs = FIRST_WAIT_MS;
  readonly #samples: Sample[] = [];
  #batchesSeen = 0;
  #fittedAt = Number.NEGATIVE_INFINITY;
  /** Queue wait of the newest item of each running batch, by start of the batch. */
  readonly #waits = new Map<number, number>();
  readonly #polls = new Polls();

  constructor(targetLatencyMs: number) {
    this.#targetLatencyMs = targetLatencyMs;
    this.#line = {
      slope: Math.min(MAX_FIRST_SLOPE_MS, targetLatencyMs / 15),
      intercept: Math.min(MAX_FIRST_INTERCEPT_MS, targetLatencyMs / 30),
    };
  }

  decide(view: QueueView, now: number): Decision {
    const pollAt = this.#polls.next(view.arrivedAt(0), now);
    if (pollAt > now) return { action: 'wait', until: pollAt, wakeOnBatchEnd: false };
    const shed = this.#shed(view, now);
    if (shed > 0)
      return { action: 'reject', positions: Array.from({ length: shed }, (_, position) => position) };
    const waiting = view.length;
    if (!this.#isTraining && this.#isWorthHolding(view, waiting, now)) {
      return { action: 'wait', until: this.#polls.after(now), wakeOnBatchEnd: false };
    }
    const most = Math.min(view.limits.maxBatchSize, this.#trainingSize);
    const count = Math.min(waiting, most);
    this.#waits.set(now, Math.max(0, now - newestOf(view, count)));
    if (count === waiting) this.#polls.pause();
    return { action: 'dispatch', count, reason: count === most ? 'full' : 'idle' };
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
    this.#line = { slope: Math.max(MIN_SLOPE_MS, slope), intercept: Math.max(0, intercept) };
    this.#averageWaitMs = this.#samples.reduce((sum, { waitMs }) => sum + waitMs, 0) / this.#samples.length;
  }

  get #isTraining(): boolean {
    return this.#batchesSeen < SKIPPED_BATCHES + TRAINING_SIZES.length;
  }

  get #trainingSize(): number {
    if (!this.#isTraining) return Number.POSITIVE_INFINITY;
    return TRAINING_SIZES[Math.max(0, this.#batchesSeen - SKIPPED_BATCHES)] as number;
  }

  /** The number of items at the head to shed. */
  #shed(view: QueueView, now: number): number {
    const { slope, intercept } = this.#line;
    let shed = 0;
    for (let waiting = view.length; waiting > 1; waiting--) {
      const serviceMs = this.#isTraining ? 0 : slope * waiting + intercept;
      if (now - view.arrivedAt(shed) + serviceMs < this.#targetLatencyMs) break;
      shed += 1;
    }
    return shed;
  }

  #isWorthHolding({ limits, traffic }: QueueView, waiting: number, now: number): boolean {
    if (waiting >= limits.maxBatchSize) return false;
    const newestAgeMs = Math.max(0, now - traffic.lastAt);
    return waiting * (newestAgeMs + POLL_MS + this.#line.slope) <= DECAY * this.#averageWaitMs;
  }
}

/** Arrival of the newest item of a batch. If the batch is the whole queue, it is the latest arrival. */
function newestOf(view: QueueView, count: number): number {
  if (count < view.length) return view.arrivedAt(count - 1);
  return Math.max(view.arrivedAt(0), view.traffic.lastAt);
}

/** Poll times: the arrival of an item at an empty queue, and every millisecond from then on. */
class Polls {
  #last: number | undefined;
  #scheduledAt = Number.POSITIVE_INFINITY;

  /** The time of the next poll, `now` if it is due; `firstAt` is the arrival of the head of the queue. */
  next(firstAt: number, now: number): number {
    this.#last ??= firstAt;
    const due = this.#last + POLL_MS * Math.ceil((now - this.#last) / POLL_MS - ROUNDING_MS);
    // A timer may fire late; the next millisecond is counted from then.
    if (due > now + ROUNDING_MS && now < this.#scheduledAt) {
      this.#scheduledAt = due;
      return due;
    }
    this.#last = now;
    this.#scheduledAt = Number.POSITIVE_INFINITY;
    return now;
  }

  /** The time of the next poll after one that decided to hold. */
  after(now: number): number {
    this.#scheduledAt = now + POLL_MS;
    return this.#scheduledAt;
  }

  /** The queue is empty. */
  pause(): void {
    this.#last = undefined;
  }
}

export interface Line {
  readonly slope: number;
  readonly intercept: number;
}

/**
 * Least-squares line. If all points have the same x, the solution of minimum norm, as in linear algebra packages: a
 * backend that was observed at one batch size only seems to have hardly any overhead.
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
