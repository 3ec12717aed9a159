/**
 * Measures the service curve of a real handler. The production batcher dispatches batches of each size, so the measured
 * durations are those that it would learn. After a warm-up, sizes alternate upwards and downwards, so that drift of the
 * machine affects all of them.
 */
import { Batcher, type Clock, greedy, type Handler, type HandlerObject, onBatch, realClock } from 'batchwise';
import { type Curve, monotone, tableCurve } from '../simulation/curve.js';
import { percentile } from '../simulation/measures.js';
import { median, noiseBetween } from './plan-noise.js';
import { exactNumber } from './plan-notation.js';

export interface ProbeRequest<I> {
  readonly handler: Handler<I, unknown> | HandlerObject<I, unknown>;
  /** Creates the item with this index. */
  readonly makeItem: (index: number) => I | PromiseLike<I>;
  /** @default 64 */
  readonly maxBatchSize?: number | undefined;
  /**
   * Time limit. A slow handler may exceed it: each size is measured at least once.
   * @default 10000
   */
  readonly timeLimitMs?: number | undefined;
  /**
   * Sizes above the first one that takes longer are not measured.
   * @default Infinity
   */
  readonly longestMs?: number | undefined;
  /**
   * Timeout of one handler call.
   * @default 60000
   */
  readonly callTimeoutMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly onProgress?: ((progress: ProbeProgress) => void) | undefined;
}

export interface ProbeProgress {
  readonly doing: string;
  /** From 0 to 1. */
  readonly share: number;
}

export interface Probe {
  readonly points: readonly ProbePoint[];
  /** Number of measurements per size. */
  readonly rounds: number;
  /** Noise of durations: the standard deviation of their logarithm, median over the sizes. */
  readonly noise: number;
  /** The first size that was not measured because smaller ones are too slow. */
  readonly leftOutFrom: number | undefined;
  readonly tookMs: number;
}

export interface ProbePoint {
  readonly size: number;
  readonly p10Ms: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
}

const MAX_ROUNDS = 100;
/** Fewer rounds do not show the noise; so a slow handler gets `EXTENSION` × the time limit for them. */
const FEWEST_ROUNDS = 5;
const EXTENSION = 3;
const WARM_UP_SHARE = 0.2;
const FEWEST_WARM_UPS = 2;
const MAX_WARM_UPS = 30;
/** Clock resolution. */
const MIN_DURATION_MS = 0.001;
/** Distinguishes the batcher from those of the handler. */
const NAME = 'batchwise probe';

export async function probe<I>(request: ProbeRequest<I>): Promise<Probe> {
  const probing = new Probing(request);
  try {
    return await probing.run();
  } finally {
    probing.end();
  }
}

export function probedCurve(name: string, { points }: Probe): Curve {
  return tableCurve(name, monotone(points.map(({ size, p50Ms }) => ({ size, ms: p50Ms }))));
}

/** The content of a curve file, for `parseCurve`. */
export function probeJson({ points }: Probe): Record<string, unknown> {
  return Object.fromEntries(
    points.map(({ size, p10Ms, p50Ms, p90Ms }) => [size, { p50_ms: p50Ms, p10_ms: p10Ms, p90_ms: p90Ms }]),
  );
}

/** 1, 2, 4, … and the largest. */
function sizesUpTo(most: number): number[] {
  const sizes: number[] = [];
  for (let size = 1; size < most; size *= 2) sizes.push(size);
  return [...sizes, most];
}

class Probing<I> {
  readonly #request: ProbeRequest<I>;
  readonly #clock: Clock;
  readonly #batcher: Batcher<I, unknown>;
  readonly #stopListening: () => void;
  readonly #startedAt: number;
  readonly #timeLimitMs: number;
  #made = 0;
  #lastMs = 0;

  constructor(request: ProbeRequest<I>) {
    const { maxBatchSize = 64, callTimeoutMs = 60_000, clock = realClock, timeLimitMs = 10_000 } = request;
    this.#request = request;
    this.#clock = clock;
    this.#timeLimitMs = timeLimitMs;
    this.#batcher = new Batcher(request.handler, {
      name: NAME,
      maxBatchSize,
      handlerTimeoutMs: callTimeoutMs,
      // Other policies might hold or split a batch.
      policy: greedy(),
      clock,
    });
    this.#stopListening = onBatch(({ name, durationMs }) => {
      if (name === NAME) this.#lastMs = durationMs;
    });
    this.#startedAt = clock.now();
  }

  async run(): Promise<Probe> {
    const { sizes, leftOutFrom } = await this.#warmUp(sizesUpTo(this.#request.maxBatchSize ?? 64));
    const measured = new Map<number, number[]>(sizes.map((size) => [size, []]));
    let rounds = 0;
    while (rounds < MAX_ROUNDS && this.#hasTimeAfter(rounds)) {
      const order = rounds % 2 === 0 ? sizes : sizes.toReversed();
      for (const size of order) {
        measured.get(size)?.push(await this.#measure(size));
        this.#report(`round ${rounds + 1}, batches of ${size}`, rounds / MAX_ROUNDS);
      }
      rounds += 1;
    }
    const points = sizes.map((size) => pointOf(size, measured.get(size) ?? []));
    return {
      points,
      rounds,
      noise: median(points.map(({ p10Ms, p90Ms }) => noiseBetween(p10Ms, p90Ms))) ?? 0,
      leftOutFrom,
      tookMs: this.#elapsedMs,
    };
  }

  end(): void {
    this.#stopListening();
    this.#batcher.destroy();
  }

  /** Repeats all sizes until calls no longer become faster; excludes sizes that are too slow. */
  async #warmUp(wanted: readonly number[]): Promise<{ sizes: number[]; leftOutFrom: number | undefined }> {
    const { longestMs = Number.POSITIVE_INFINITY } = this.#request;
    const sizes: number[] = [];
    let leftOutFrom: number | undefined;
    let before = 0;
    for (const size of wanted) {
      this.#report(`warming up, batches of ${size}`, 0);
      const first = await this.#measure(size);
      // The very first call is often slow.
      const ms = first > longestMs ? await this.#measure(size) : first;
      sizes.push(size);
      before += ms;
      if (ms > longestMs) {
        leftOutFrom = wanted[sizes.length];
        break;
      }
    }
    for (let pass = 1; pass < MAX_WARM_UPS; pass++) {
      if (this.#elapsedMs > WARM_UP_SHARE * this.#timeLimitMs) break;
      let total = 0;
      for (const size of sizes) {
        this.#report(`warming up, batches of ${size}`, 0);
        total += await this.#measure(size);
      }
      if (pass >= FEWEST_WARM_UPS && total > 0.95 * before) break;
      before = total;
    }
    return { sizes, leftOutFrom };
  }

  async #measure(size: number): Promise<number> {
    const items: I[] = [];
    for (let i = 0; i < size; i++) items.push(await this.#request.makeItem(this.#made++));
    await this.#batcher.submitMany(items);
    return Math.max(MIN_DURATION_MS, this.#lastMs);
  }

  #hasTimeAfter(rounds: number): boolean {
    if (rounds === 0) return true;
    return this.#elapsedMs < (rounds < FEWEST_ROUNDS ? EXTENSION : 1) * this.#timeLimitMs;
  }

  get #elapsedMs(): number {
    return this.#clock.now() - this.#startedAt;
  }

  #report(doing: string, share: number): void {
    this.#request.onProgress?.({
      doing,
      share: Math.min(1, Math.max(share, this.#elapsedMs / this.#timeLimitMs)),
    });
  }
}

/** Rounded as in the curve file, so that a plan from the file is the plan from the probe. */
function pointOf(size: number, durations: number[]): ProbePoint {
  const sorted = durations.sort((a, b) => a - b);
  return {
    size,
    p10Ms: written(percentile(sorted, 0.1)),
    p50Ms: written(median(sorted) ?? Number.NaN),
    p90Ms: written(percentile(sorted, 0.9)),
  };
}

function written(ms: number): number {
  return exactNumber(ms) ?? Number.NaN;
}
