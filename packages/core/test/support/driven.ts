/** A real batcher on virtual time, with a backend whose service time is a formula, and the outcomes of all items. */
import {
  type BatchContext,
  Batcher,
  type BatcherOptions,
  BatchwiseError,
  type EnqueueOptions,
  VirtualClock,
} from 'batchwise';
import { CoarseClock } from './coarse-clock.js';

export interface Arrival extends EnqueueOptions {
  readonly at: number;
  readonly cost?: number;
  readonly group?: unknown;
}

export interface Fate {
  readonly arrival: Arrival;
  /** When it was answered or rejected. */
  readonly endedAt: number;
  /** The code of its error; undefined when it was answered. */
  readonly code?: string | undefined;
  readonly retryAfterMs?: number | undefined;
}

export interface DrivenBatch {
  readonly startedAt: number;
  readonly endsAt: number;
  readonly arrivals: readonly Arrival[];
  readonly context: BatchContext;
}

export class Driven {
  readonly clock: VirtualClock;
  readonly batcher: Batcher<Arrival, Arrival>;
  readonly batches: DrivenBatch[] = [];
  readonly fates = new Map<Arrival, Fate>();
  durationMs: (cost: number) => number;

  constructor(
    durationMs: (cost: number) => number,
    options: Omit<BatcherOptions<Arrival>, 'clock'> = {},
    clock = new VirtualClock(),
  ) {
    this.clock = clock;
    this.durationMs = durationMs;
    this.batcher = new Batcher(this.#handler, { costOf: ({ cost = 1 }) => cost, ...options, clock });
  }

  readonly #handler = (arrivals: Arrival[], context: BatchContext): Promise<Arrival[]> => {
    const startedAt = this.clock.now();
    const durationMs = this.durationMs(context.paddedCost);
    this.batches.push({ startedAt, endsAt: startedAt + durationMs, arrivals: [...arrivals], context });
    return new Promise((resolve) => this.after(durationMs, () => resolve(arrivals)));
  };

  after(ms: number, callback: () => void): void {
    if (this.clock instanceof CoarseClock) this.clock.exactTimer(callback, ms);
    else this.clock.setTimer(callback, ms);
  }

  /** Submits one item now; `then` is called when it is settled. */
  arrive(arrival: Omit<Arrival, 'at'> = {}, then?: (fate: Fate) => void): Arrival {
    const { cost, group, ...options } = arrival;
    const submitted: Arrival = { ...arrival, at: this.clock.now() };
    const end = (error?: Error): void => {
      const isKnown = error instanceof BatchwiseError;
      const fate: Fate = {
        arrival: submitted,
        endedAt: this.clock.now(),
        code: isKnown ? error.code : error?.message,
        retryAfterMs: isKnown ? error.retryAfterMs : undefined,
      };
      this.fates.set(submitted, fate);
      then?.(fate);
    };
    this.batcher.enqueue(submitted, { resolve: () => end(), reject: end }, options);
    return submitted;
  }

  /** Submits all items at their times, counted from now, and waits until they are settled. */
  async play(arrivals: Iterable<Arrival>, thenMs = 10_000): Promise<this> {
    const start = this.clock.now();
    for (const { at, ...arrival } of arrivals) {
      await this.clock.advance(Math.max(0, start + at - this.clock.now()));
      this.arrive(arrival);
    }
    await this.clock.advance(thenMs);
    return this;
  }

  /** Latencies of all answered items. */
  get latenciesMs(): number[] {
    return [...this.fates.values()]
      .filter(({ code }) => code === undefined)
      .map(({ arrival, endedAt }) => endedAt - arrival.at);
  }

  get codes(): string[] {
    return [...this.fates.values()].flatMap(({ code }) => code ?? []);
  }

  get busyMs(): number {
    return this.batches.reduce((sum, { startedAt, endsAt }) => sum + endsAt - startedAt, 0);
  }
}

/** Arrivals at these times. */
export function at(times: readonly number[], arrival: Omit<Arrival, 'at'> = {}): Arrival[] {
  return times.map((time) => ({ ...arrival, at: time }));
}

/** The points of a curve given by a formula. */
export function pointsOf(durationMs: (cost: number) => number, maxBatchSize: number) {
  return Array.from({ length: maxBatchSize }, (_, i) => ({ cost: i + 1, durationMs: durationMs(i + 1) }));
}
