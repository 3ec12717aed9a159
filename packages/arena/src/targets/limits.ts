/**
 * What `--check` holds the figures against, beside the goals themselves. Where a goal is reached its limit is
 * the goal. Where it is not, the limit is what was measured when it was last set, and a little more: it
 * catches what becomes worse, and is to be tightened whenever something becomes better.
 */
import type { Extent, Goal } from './target.js';

/** A goal that is not reached, and how far its figures may be from it. */
type Shortfall = { readonly goal: number } & { readonly [E in Extent]?: number };

export const FALL_SHORT: Readonly<Record<string, Shortfall>> = {
  best_peer_mean: { goal: 1.01, quick: 1.11 },
  best_peer_p99: { goal: 1.05, quick: 1.3 },
  noisy_mean: { goal: 1.03, quick: 1.08 },
};

export function limitOf({ id, goal }: Pick<Goal, 'id' | 'goal'>, extent: Extent): number {
  return FALL_SHORT[id]?.[extent] ?? goal;
}
