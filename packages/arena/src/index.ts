/**
 * A deterministic simulator for batching policies: the production batcher on virtual time.
 *
 *     import { greedy } from 'batchwise';
 *     import { formulaCurve, measure, poisson, simulate } from '@batchwise/arena';
 *
 *     const curve = formulaCurve('5 + 0.1b', 64, (b) => 5 + 0.1 * b);
 *     const scenario = { name: 'quiet', curve, slots: 1, arrivals: poisson(1), items: 10_000, targetLatencyMs: 50, noise: 0, timerMs: 1, seed: 1 };
 *     const run = await simulate(scenario, { name: 'greedy', policy: () => greedy(), knowsTarget: false });
 *     console.log(measure(run).meanMs);
 */

export { type AblationOptions, REMOVABLE, type Removable, runAblation } from './ablation/ablation.js';
export {
  type AblationReport,
  ablationJson,
  ablationText,
  type RuleReport,
} from './ablation/ablation-report.js';
export { backendTimeBound } from './bounds/backend-time-bound.js';
export { type ClosedLoopReference, closedLoopReference } from './bounds/closed-loop-reference.js';
export { fluidGoodput } from './bounds/fluid-goodput.js';
export { type GoodputOptimum, goodputOptimum } from './bounds/goodput-optimum.js';
export { type PoissonOptimum, poissonOptimum, poissonOptimumContender } from './bounds/poisson-optimum.js';
export {
  type StoredTwoSlots,
  storedTwoSlots,
  type TwoSlotBound,
  twoSlotBound,
} from './bounds/stored-two-slots.js';
export {
  type TwoSlotOptimum,
  type TwoSlotOptions,
  type TwoSlotTable,
  twoSlotContender,
  twoSlotOptimum,
} from './bounds/two-slot-optimum.js';
export { ArenaError, type ArenaErrorCode } from './files/arena-error.js';
export { type CurveOptions, parseCurve, parseCurveText } from './files/curve-file.js';
export { type ScenarioBound, scenarioBound } from './files/scenario-bound.js';
export {
  parseScenario,
  readScenarioFile,
  type ScenarioFile,
  type ScenarioOptions,
} from './files/scenario-file.js';
export { parseTrace, type Trace } from './files/trace-file.js';
export { type Cell, type CellArrivals, type CellMix, cellName, scenarioOf } from './grid/grid-cell.js';
export { GRID_CURVES, HOLD_OUT_CURVES } from './grid/grid-curves.js';
export { type HarmOptions, type HarmResult, runHarm } from './harm/harm.js';
export { harmJson, harmText } from './harm/harm-report.js';
export { type RandomScenario, randomScenario } from './harm/random-scenario.js';
export { type ArenaPageData, arenaPage, type FamilyFigure, type TargetFigure } from './page/arena-page.js';
export { chartFigure } from './page/page-chart.js';
export { html, Markup, pageDocument } from './page/page-document.js';
export {
  type NamedContender,
  SHOWCASE_CURVES,
  type Showcase,
  type ShowcaseCell,
  type ShowcaseCurve,
  type ShowcaseOptions,
  type Stretch,
  type Sweep,
  showcase,
} from './page/showcase.js';
export { PEERS, peer } from './peers/peers.js';
export { makePlan, type Plan, type PlanInput, type Verdict } from './plan/plan.js';
export { planChart } from './plan/plan-chart.js';
export { planJson } from './plan/plan-json.js';
export { curveNoise } from './plan/plan-noise.js';
export { formatBatch, formatCount, formatMs, formatShare, formatTarget } from './plan/plan-notation.js';
export type { PlanProgress } from './plan/plan-progress.js';
export { MAX_NOISE, MAX_SLOTS, type PlanRequest } from './plan/plan-request.js';
export type { PlannedPolicy, PlanSettings, Prefer } from './plan/plan-settings.js';
export { type Palette, PLAIN, planText } from './plan/plan-text.js';
export { LONGEST_TRACE, MAX_PER_SECOND, type Traffic } from './plan/plan-traffic.js';
export type { LoadResult } from './plan/plan-trial.js';
export {
  type Probe,
  type ProbePoint,
  type ProbeProgress,
  type ProbeRequest,
  probe,
  probedCurve,
  probeJson,
} from './plan/probe.js';
export { type LineChartSpec, lineChart, type Series } from './plot/line-chart.js';
export type { Mark } from './plot/marks.js';
export type { Axis } from './plot/scale.js';
export { type Timeline, timelineOf } from './plot/timeline.js';
export { type TimelineChartSpec, timelineChart } from './plot/timeline-chart.js';
export {
  type ArenaReport,
  arenaReport,
  pageFacts,
  type TargetReport,
  targetFigures,
} from './report/arena-report.js';
export { arenaJson } from './report/arena-report-json.js';
export { arenaText, missedLimits } from './report/arena-report-text.js';
export {
  type Averaged,
  type PolicyReport,
  type ScenarioReport,
  scenarioJson,
  scenarioText,
} from './report/scenario-report.js';
export {
  type Arrivals,
  type ClosedArrivals,
  closedLoop,
  fanOut,
  lognormalGaps,
  mmpp,
  type OpenArrivals,
  onOff,
  phases,
  poisson,
  recorded,
} from './simulation/arrivals.js';
export {
  type Curve,
  capacity,
  formulaCurve,
  type MeasuredPoint,
  tableCurve,
} from './simulation/curve.js';
export { type Measures, measure, percentile } from './simulation/measures.js';
export { CONTENDERS, OURS } from './simulation/our-contenders.js';
export { type Random, randomStream } from './simulation/random.js';
export type { Contender, Scenario, Traits } from './simulation/scenario.js';
export { type BatchRun, type Run, simulate } from './simulation/simulate.js';
export type { CellResult, Extent, Goal, Target } from './targets/target.js';
export { TARGET_NUMBERS, TARGETS } from './targets/targets.js';
export {
  type ArenaOptions,
  FIRST_SEED,
  runArena,
  runScenario,
  runShowcase,
  type ShowcaseRunOptions,
} from './tournament/arena-runs.js';
export { type TournamentOptions, type TournamentProgress, tournament } from './tournament/tournament.js';
