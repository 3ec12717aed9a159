/** Jobs of the tournament: plain data, so that any thread can run them. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type AblationJob, type AblationResult, playAblation } from '../ablation/ablation.js';
import { poissonOptimum } from '../bounds/poisson-optimum.js';
import { type ScenarioBound, scenarioBound } from '../files/scenario-bound.js';
import { parseScenario, type ScenarioFile } from '../files/scenario-file.js';
import { type Cell, cellName } from '../grid/grid-cell.js';
import { type HarmJob, type HarmResult, playHarm } from '../harm/harm.js';
import { type NamedContender, SHOWCASE_CURVES, type Showcase, showcase } from '../page/showcase.js';
import type { Curve } from '../simulation/curve.js';
import { firstItemFrom, type Measures, measure } from '../simulation/measures.js';
import { CONTENDERS } from '../simulation/our-contenders.js';
import type { Scenario } from '../simulation/scenario.js';
import { simulate } from '../simulation/simulate.js';
import type { CellResult } from '../targets/target.js';
import { targetNamed } from '../targets/targets.js';

/** A cell of the grid. */
export interface CellJob {
  readonly kind: 'cell';
  readonly cell: Cell;
}

/** One backend of the HTML page with a number of slots. */
export interface ShowcaseJob {
  readonly kind: 'showcase';
  readonly curve: number;
  readonly slots: number;
  readonly effort: number;
  readonly seed: number;
}

/** The text of a scenario file, so that all threads have the same even if the file changes. */
interface ScenarioSource {
  readonly text: string;
  readonly fileName: string;
  /** The folder to which names of traces are relative. */
  readonly folder: string;
}

/** One policy with one seed in a scenario file. */
export interface ScenarioJob {
  readonly kind: 'scenario';
  readonly source: ScenarioSource;
  readonly seed: number;
  readonly policy: string;
}

/** The bound for one seed of a scenario file. */
export interface BoundJob {
  readonly kind: 'bound';
  readonly source: ScenarioSource;
  readonly seed: number;
}

export type Job = CellJob | AblationJob | HarmJob | ShowcaseJob | ScenarioJob | BoundJob;

interface JobResults {
  readonly cell: CellResult;
  readonly ablation: AblationResult;
  readonly harm: HarmResult;
  readonly showcase: Showcase;
  readonly scenario: Measures;
  readonly bound: ScenarioBound | undefined;
}

export type ResultOf<J extends Job> = JobResults[J['kind']];

export async function doJob(job: Job): Promise<ResultOf<Job>> {
  switch (job.kind) {
    case 'cell':
      return targetNamed(job.cell.target).play(job.cell);
    case 'ablation':
      return playAblation(job);
    case 'harm':
      return playHarm(job);
    case 'showcase':
      return showcaseOf(job);
    case 'scenario':
      return simulateScenario(job);
    case 'bound':
      return scenarioBound(scenarioWith(job));
  }
}

export function jobName(job: Job): string {
  switch (job.kind) {
    case 'cell':
      return `${job.cell.target}: ${cellName(job.cell)}`;
    case 'ablation':
      return `${cellName(job.cell)}, without ${job.removed ?? 'nothing'}`;
    case 'harm':
      return `random scenario ${job.seed}`;
    case 'showcase':
      return `${SHOWCASE_CURVES[job.curve]?.title}, ${job.slots} slots`;
    case 'scenario':
      return `${job.policy}, seed ${job.seed}`;
    case 'bound':
      return `the bound, seed ${job.seed}`;
  }
}

/** The policies of the HTML page: adaptive first, then one of each kind of rule. */
const SHOWN = ['adaptive', 'greedy', 'triton-10', 'window-10', 'bentoml'];

function shownContenders(): NamedContender[] {
  return SHOWN.map((name) => {
    const contender = CONTENDERS.get(name);
    if (contender === undefined) throw new RangeError(`There is no contender ${name}.`);
    return { name, contender };
  });
}

function showcaseOf({ curve, slots, effort, seed }: ShowcaseJob): Promise<Showcase> {
  const chosen = SHOWCASE_CURVES[curve];
  if (chosen === undefined) throw new RangeError(`There is no showcase ${curve}.`);
  return showcase({
    contenders: shownContenders(),
    curves: [chosen],
    slots: [slots],
    effort,
    seed,
    meanBound: (of: Curve, count: number, perMs: number) =>
      count === 1 ? poissonOptimum(of, perMs).meanMs : undefined,
  });
}

async function simulateScenario(job: ScenarioJob): Promise<Measures> {
  const contender = CONTENDERS.get(job.policy);
  if (contender === undefined) throw new RangeError(`There is no policy ${job.policy}.`);
  const run = await simulate(scenarioWith(job), contender);
  return measure(run, firstItemFrom(run));
}

export function parsedSource({ text, fileName, folder }: ScenarioSource): ScenarioFile {
  return parseScenario(text, fileName, {
    contenders: CONTENDERS,
    readFile: (name) => readFileSync(resolve(folder, name), 'utf8'),
  });
}

/** Cache of the last parsed file: all jobs of a tournament have the same one. */
let last: { readonly source: ScenarioSource; readonly file: ScenarioFile } | undefined;

function scenarioWith({ source, seed }: ScenarioJob | BoundJob): Scenario {
  if (last?.source.text !== source.text || last.source.folder !== source.folder) {
    last = { source, file: parsedSource(source) };
  }
  const scenario = last.file.scenarios.find((candidate) => candidate.seed === seed);
  if (scenario === undefined) throw new RangeError(`There is no seed ${seed} in ${source.fileName}.`);
  return scenario;
}
