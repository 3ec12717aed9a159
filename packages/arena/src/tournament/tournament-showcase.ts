/** The simulations behind the page, on all threads. */
import { SHOWCASE_CURVES, type Showcase } from '../page/showcase.js';
import { type TournamentOptions, tournament } from './tournament.js';
import type { ShowcaseJob } from './tournament-job.js';

export interface ShowcaseRunOptions extends TournamentOptions {
  readonly effort: number;
  readonly seed: number;
}

const SLOTS = [1, 2];

export async function runShowcase(options: ShowcaseRunOptions): Promise<Showcase> {
  const { effort, seed } = options;
  const jobs: ShowcaseJob[] = SHOWCASE_CURVES.flatMap((_, curve) =>
    SLOTS.map((slots) => ({ kind: 'showcase' as const, curve, slots, effort, seed })),
  );
  const parts = await tournament(jobs, options);
  return { contenders: parts[0]?.contenders ?? [], cells: parts.flatMap(({ cells }) => cells) };
}
