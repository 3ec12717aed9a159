/**
 * What runs on a backend that is one of several, and how long until it would be done with more. Pure but for
 * what it has been told: time is given to it.
 */
import type { RunningWork } from '../policy/policy.js';
import { ServiceCurve } from './service-curve.js';

/** What the choice between backends looks at. */
export interface Loaded {
  readonly running: { readonly size: number };
  predictedWaitMs(cost: number, now: number): number;
}

/** After so long what was learned is not believed any more: a backend that was slow once would never be asked again. */
const FRESH_MS = 10_000;
/** Predictions that differ by less than a quarter are taken as equal: they are not better than that. */
const ALIKE = 1.25;

export class BackendLoad implements Loaded {
  readonly curve = new ServiceCurve();
  readonly #running = new Set<RunningWork>();

  get running(): ReadonlySet<RunningWork> {
    return this.#running;
  }

  /** `size` is in items, and as much as the cost unless it is said. */
  begin(cost: number, now: number, size = cost): RunningWork {
    const work = { size, cost, startedAt: now };
    this.#running.add(work);
    return work;
  }

  end(work: RunningWork): void {
    this.#running.delete(work);
  }

  /**
   * How long until a batch of this cost would be answered: what runs there goes before it. 0 when nothing is known
   * that is still believed, so that it is found out, by one batch: while that runs, it is not counted on.
   */
  predictedWaitMs(cost: number, now: number): number {
    const { curve } = this;
    const durationMs = curve.predict(cost);
    const isKnown = durationMs !== undefined && now - curve.updatedAt <= FRESH_MS;
    if (!isKnown && this.#running.size === 0) return 0;
    if (durationMs === undefined) return Number.POSITIVE_INFINITY;
    let waitMs = durationMs;
    for (const work of this.#running) {
      // What is overdue will take as long again as it is overdue: it may hang.
      waitMs += Math.abs(work.startedAt + (curve.predict(work.cost) as number) - now);
    }
    return waitMs;
  }
}

/** The one with the least predicted wait; of those alike the one on which least runs; `turn` decides among equals. */
export function leastLoaded<L extends Loaded>(
  candidates: readonly L[],
  cost: number,
  turn: number,
  now: number,
): L | undefined {
  if (candidates.length < 2) return candidates[0];
  const waits = candidates.map((candidate) => candidate.predictedWaitMs(cost, now));
  const least = Math.min(...waits);
  const alike = candidates.filter((_, i) => (waits[i] as number) <= least * ALIKE);
  const fewest = Math.min(...alike.map(({ running }) => running.size));
  const idlest = alike.filter(({ running }) => running.size === fewest);
  return idlest[turn % idlest.length];
}
