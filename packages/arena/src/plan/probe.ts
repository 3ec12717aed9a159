/**
 * Measures the service curve of a real handler: the production batcher hands it batches of rising sizes,
 * and what it takes for each is what the batcher would learn. After a warm-up the sizes take turns, up and
 * down, so that a machine that becomes slower or quicker meanwhile does so for all of them.
 */
import { Batcher, type Clock, greedy, type Handler, type HandlerObject, onBatch, realClock } from 'batchwise';
import { type Curve, monotone, tableCurve } from '../simulation/curve.js';
import { percentile } from '../simulation/measures.js';
import { middleOf, noiseBetween } from './plan-noise.js';
import { exactNumber } from './plan-notation.js';

export interface ProbeRequest<I> {
  readonly handler: Handler<I, unknown> | HandlerObject<I, unknown>;
  /** Makes an item; told how many it made before. */
  readonly makeItem: (index: number) => I | PromiseLike<I>;
  /** @default 64 */
  readonly maxBatchSize?: number | undefined;
  /**
   * How long to measure. A slow handler may take longer: each size is measured at least once.
   * @default 10000
   */
  readonly timeLimitMs?: number | undefined;
  /**
   * No sizes beyond one that takes so long: who has a target has no use for them.
   * @default Infinity
   */
  readonly longestMs?: number | undefined;
  /**
   * How long one call of the handler may take.
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
  /** How often each size was measured. */
  readonly rounds: number;
  /** The spread of durations: the standard deviation of their logarithm, that of the middle size. */
  readonly noise: number;
  /** The first size that was left out because smaller ones take too long already. */
  readonly leftOutFrom: number | undefined;
  readonly tookMs: number;
}

export interface ProbePoint {
  readonly size: number;
  readonly p10Ms: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
}

const MOST_ROUNDS = 100;
/** Fewer tell nothing of the spread; but who is that slow should not wait for ever. */
const FEWEST_ROUNDS = 5;
const PATIENCE = 3;
const WARM_UP_SHARE = 0.2;
const FEWEST_WARM_UPS = 2;
const MOST_WARM_UPS = 30;
/** No handler is quicker than a clock can tell. */
const LEAST_MS = 0.001;
/** No batcher of the handler's own is called that. */
const NAME = 'batchwise probe';

export async function probe<I>(request: ProbeRequest<I>): Promise<Probe> {
  const probing = new Probing(request);
  try {
    return await probing.run();
  } finally {
    probing.end();
  }
}

/** The curve to plan with. */
export function probedCurve(name: string, { points }: Probe): Curve {
  return tableCurve(name, monotone(points.map(({ size, p50Ms }) => ({ size, ms: p50Ms }))));
}

/** What a file of it holds; `parseCurve` reads it. */
export function probeJson({ points }: Probe): Record<string, unknown> {
  return Object.fromEntries(
    points.map(({ size, p10Ms, p50Ms, p90Ms }) => [
      size,
      { p50_ms: exactNumber(p50Ms), p10_ms: exactNumber(p10Ms), p90_ms: exactNumber(p90Ms) },
    ]),
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
      // Another might hold a batch back or take it apart.
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
    while (rounds < MOST_ROUNDS && this.#hasTimeAfter(rounds)) {
      const order = rounds % 2 === 0 ? sizes : sizes.toReversed();
      for (const size of order) {
        measured.get(size)?.push(await this.#measure(size));
        this.#tell(`round ${rounds + 1}, batches of ${size}`, rounds / MOST_ROUNDS);
      }
      rounds += 1;
    }
    const points = sizes.map((size) => pointOf(size, measured.get(size) ?? []));
    return {
      points,
      rounds,
      noise: middleOf(points.map(({ p10Ms, p90Ms }) => noiseBetween(p10Ms, p90Ms))) ?? 0,
      leftOutFrom,
      tookMs: this.#elapsedMs,
    };
  }

  end(): void {
    this.#stopListening();
    this.#batcher.destroy();
  }

  /** Until calls no longer become quicker; finds out on the way which sizes are worth it. */
  async #warmUp(wanted: readonly number[]): Promise<{ sizes: number[]; leftOutFrom: number | undefined }> {
    const { longestMs = Number.POSITIVE_INFINITY } = this.#request;
    const sizes: number[] = [];
    let leftOutFrom: number | undefined;
    let before = 0;
    for (const size of wanted) {
      this.#tell(`warming up, batches of ${size}`, 0);
      const first = await this.#measure(size);
      // The first call of all is often a slow one.
      const ms = first > longestMs ? await this.#measure(size) : first;
      sizes.push(size);
      before += ms;
      if (ms > longestMs) {
        leftOutFrom = wanted[sizes.length];
        break;
      }
    }
    for (let pass = 1; pass < MOST_WARM_UPS; pass++) {
      if (this.#elapsedMs > WARM_UP_SHARE * this.#timeLimitMs) break;
      let total = 0;
      for (const size of sizes) {
        this.#tell(`warming up, batches of ${size}`, 0);
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
    return Math.max(LEAST_MS, this.#lastMs);
  }

  #hasTimeAfter(rounds: number): boolean {
    if (rounds === 0) return true;
    return this.#elapsedMs < (rounds < FEWEST_ROUNDS ? PATIENCE : 1) * this.#timeLimitMs;
  }

  get #elapsedMs(): number {
    return this.#clock.now() - this.#startedAt;
  }

  #tell(doing: string, share: number): void {
    this.#request.onProgress?.({
      doing,
      share: Math.min(1, Math.max(share, this.#elapsedMs / this.#timeLimitMs)),
    });
  }
}

function pointOf(size: number, durations: number[]): ProbePoint {
  const sorted = durations.sort((a, b) => a - b);
  return {
    size,
    p10Ms: percentile(sorted, 0.1),
    p50Ms: middleOf(sorted) ?? Number.NaN,
    p90Ms: percentile(sorted, 0.9),
  };
}
