/** A scenario of the user's: every policy with every seed, and the bound where there is one. */
import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { ScenarioBound } from '../files/scenario-bound.js';
import { type ScenarioReport, scenarioReport } from '../report/scenario-report.js';
import type { Measures } from '../simulation/measures.js';
import { type TournamentOptions, tournament } from './tournament.js';
import { type BoundJob, parsedSource, type ScenarioJob } from './tournament-job.js';

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
