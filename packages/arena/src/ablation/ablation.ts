/** The gain of each rule of the policy: every cell runs with all rules, and again without each of them. */
import { greedy } from 'batchwise';
import { adaptiveWithout, RULES, type Rule } from 'batchwise/internal';
import { type Cell, scenarioOf } from '../grid/grid-cell.js';
import { measure } from '../simulation/measures.js';
import { VARIANTS } from '../simulation/our-contenders.js';
import type { Contender } from '../simulation/scenario.js';
import { simulate } from '../simulation/simulate.js';
import type { Extent } from '../targets/target.js';
import { FIRST_SEED } from '../tournament/arena-runs.js';
import { type TournamentOptions, tournament } from '../tournament/tournament.js';
import { ablationCells } from './ablation-cells.js';
import { type AblationReport, type AblationRuns, ablationReport } from './ablation-report.js';

/** The parts that can be removed: a rule, admission control, or the whole policy in favour of greedy dispatch. */
export const REMOVABLE = [...RULES, 'admission', 'all of adaptive'] as const;

export type Removable = (typeof REMOVABLE)[number];

/** Constants were tuned with seeds from here to 20. */
const TUNING_SEED = 1;

/** One cell without one rule; or with all rules. */
export interface AblationJob {
  readonly kind: 'ablation';
  readonly cell: Cell;
  readonly removed?: Removable;
}

/** Averaged over the seeds, from the first item on. */
export interface AblationResult {
  readonly meanMs: number;
  readonly goodput: number;
}

export interface AblationOptions extends TournamentOptions {
  readonly extent: Extent;
  /** Only cells for which this holds. @default all */
  readonly where?: ((cell: Cell) => boolean) | undefined;
  /** @default all */
  readonly rules?: readonly Removable[] | undefined;
}

export async function runAblation(options: AblationOptions): Promise<AblationReport> {
  const { extent, where = () => true, rules = REMOVABLE } = options;
  const cellsFrom = (seed: number) => ablationCells(extent, seed).filter(where);
  const [tuning, checking] = [cellsFrom(TUNING_SEED), cellsFrom(FIRST_SEED)];
  const jobs: AblationJob[] = [...tuning, ...checking].flatMap((cell) => [
    { kind: 'ablation' as const, cell },
    ...rules.map((removed) => ({ kind: 'ablation' as const, cell, removed })),
  ]);
  const results = await tournament(jobs, options);
  const runsOf = (cells: readonly Cell[], first: number): AblationRuns => {
    const perCell = 1 + rules.length;
    const at = (cell: number, run: number) => results[(first + cell) * perCell + run] as AblationResult;
    return {
      cells,
      complete: cells.map((_, i) => at(i, 0)),
      without: new Map(rules.map((rule, r) => [rule, cells.map((_, i) => at(i, 1 + r))])),
    };
  };
  return ablationReport(extent, runsOf(tuning, 0), runsOf(checking, tuning.length));
}

export async function playAblation({ cell, removed }: AblationJob): Promise<AblationResult> {
  const contender = contenderWithout(removed);
  let meanMs = 0;
  let goodput = 0;
  for (const seed of cell.seeds) {
    const measures = measure(await simulate(scenarioOf(cell, seed), contender));
    meanMs += measures.meanMs / cell.seeds.length;
    goodput += measures.goodput / cell.seeds.length;
  }
  return { meanMs, goodput };
}

function contenderWithout(removed: Removable | undefined): Contender {
  switch (removed) {
    case undefined:
      return VARIANTS.adaptive;
    case 'admission':
      return VARIANTS.noAdmission;
    case 'all of adaptive':
      return { name: removed, policy: () => greedy(), knowsTarget: true };
    default:
      return withoutRule(removed);
  }
}

function withoutRule(rule: Rule): Contender {
  return { name: `without ${rule}`, policy: () => adaptiveWithout(rule), knowsTarget: true };
}
