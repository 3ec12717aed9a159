/** The runs of `batchwise arena`: the targets, a scenario file, the plots of the page. */

import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { ScenarioBound } from '../files/scenario-bound.js';
import { SHOWCASE_CURVES, type Showcase } from '../page/showcase.js';
import { type ArenaReport, arenaReport } from '../report/arena-report.js';
import { type ScenarioReport, scenarioReport } from '../report/scenario-report.js';
import type { Measures } from '../simulation/measures.js';
import type { Extent, Target } from '../targets/target.js';
import { TARGETS } from '../targets/targets.js';
import { type TournamentOptions, tournament } from './tournament.js';
import {
  type BoundJob,
  type CellJob,
  parsedSource,
  type ScenarioJob,
  type ShowcaseJob,
} from './tournament-job.js';

/** Constants are tuned with seeds 1 to 20; results are measured with others. */
export const FIRST_SEED = 101;

export interface ArenaOptions extends TournamentOptions {
  readonly extent: Extent;
  /** @default FIRST_SEED */
  readonly firstSeed?: number | undefined;
  /** Numbers of the targets. @default all */
  readonly targets?: readonly number[] | undefined;
}

export async function runArena(options: ArenaOptions): Promise<ArenaReport> {
  const { extent, firstSeed = FIRST_SEED, targets: numbers } = options;
  const targets = TARGETS.filter(({ number }) => numbers === undefined || numbers.includes(number));
  const results = await tournament(arenaJobs(extent, firstSeed, targets), options);
  return arenaReport(extent, firstSeed, targets, results);
}

function arenaJobs(extent: Extent, firstSeed: number, targets: readonly Target[]): CellJob[] {
  return targets.flatMap((target) => target.cells(extent, firstSeed)).map((cell) => ({ kind: 'cell', cell }));
}

/** @throws {ArenaError} INVALID_SCENARIO, before anything runs. */
export async function runScenario(path: string, options: TournamentOptions = {}): Promise<ScenarioReport> {
  const source = { text: readFileSync(path, 'utf8'), fileName: basename(path), folder: dirname(path) };
  const file = parsedSource(source);
  const seeds = file.scenarios.map(({ seed }) => seed);
  const policies = file.contenders.map(({ name }) => name);
  const jobs: (ScenarioJob | BoundJob)[] = seeds.flatMap((seed) => [
    { kind: 'bound' as const, source, seed },
    ...policies.map((policy) => ({ kind: 'scenario' as const, source, seed, policy })),
  ]);
  const results = await tournament(jobs, options);
  const bounds: (ScenarioBound | undefined)[] = [];
  const measures = new Map<string, Measures[]>(policies.map((policy) => [policy, []]));
  jobs.forEach((job, i) => {
    if (job.kind === 'bound') bounds.push(results[i] as ScenarioBound | undefined);
    else measures.get(job.policy)?.push(results[i] as Measures);
  });
  return scenarioReport(file, bounds, measures);
}

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
