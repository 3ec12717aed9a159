/**
 * A deterministic arena for batching policies: the production batcher on virtual time.
 *
 *     import { greedy } from 'batchwise';
 *     import { formulaCurve, measure, poisson, simulate } from '@batchwise/arena';
 *
 *     const curve = formulaCurve('5 + 0.1b', 64, (b) => 5 + 0.1 * b);
 *     const scenario = { name: 'quiet', curve, slots: 1, arrivals: poisson(1), items: 10_000, targetMs: 50, noise: 0, timerMs: 1, seed: 1 };
 *     const run = await simulate(scenario, { name: 'greedy', policy: () => greedy(), knowsTarget: false });
 *     console.log(measure(run).meanMs);
 */
export { ArenaError, type ArenaErrorCode } from './arena-error.js';
export { type ArenaPageData, arenaPage, type FamilyFigure, type TargetFigure } from './arena-page.js';
export {
  type ArenaReport,
  arenaReport,
  pageFacts,
  type TargetReport,
  targetFigures,
} from './arena-report.js';
export { arenaJson } from './arena-report-json.js';
export { arenaText, missedLimits } from './arena-report-text.js';
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
} from './arrivals.js';
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
export { twoSlotContender } from './bounds/two-slot-contender.js';
export {
  type TwoSlotOptimum,
  type TwoSlotOptions,
  type TwoSlotTable,
  twoSlotOptimum,
} from './bounds/two-slot-optimum.js';
export type { Contender } from './contender.js';
export { type Curve, capacity, formulaCurve, type MeasuredPoint, monotone, tableCurve } from './curve.js';
export { type CurveOptions, parseCurve, parseCurveText } from './curve-file.js';
export { type Cell, type CellArrivals, cellName, scenarioOf } from './grid-cell.js';
export { GRID_CURVES } from './grid-curves.js';
export { HOLD_OUT_CURVES } from './grid-hold-out.js';
export { itemAfterBatches, type Measures, measure, percentile } from './measures.js';
export { CONTENDERS, OURS } from './our-contenders.js';
export { PEERS, peer } from './peers/peers.js';
export { type Asked, makePlan, type Plan, type PlanSettings, type Verdict } from './plan.js';
export { chartOf, planChart } from './plan-chart.js';
export { planJson } from './plan-json.js';
export { curveNoise } from './plan-noise.js';
export type { PlannedPolicy, Prefer } from './plan-policy.js';
export type { PlanProgress } from './plan-progress.js';
export { HOLDS_FROM, MOST_NOISE, MOST_SLOTS, type PlanRequest } from './plan-request.js';
export { snippetOf } from './plan-snippet.js';
export { type Palette, PLAIN, planText } from './plan-text.js';
export { LONGEST_TRACE, MOST_PER_SECOND, type Traffic } from './plan-traffic.js';
export type { LoadResult } from './plan-trial.js';
export { answerOf } from './plan-verdict.js';
export { type LineChartSpec, lineChart, type Series } from './plot/line-chart.js';
export type { Mark } from './plot/marks.js';
export type { Axis } from './plot/scale.js';
export { type Timeline, timelineOf } from './plot/timeline.js';
export { type TimelineChartSpec, timelineChart } from './plot/timeline-chart.js';
export {
  type Probe,
  type ProbePoint,
  type ProbeProgress,
  type ProbeRequest,
  probe,
  probedCurve,
  probeJson,
} from './probe.js';
export { type Random, randomStream } from './random.js';
export type { Scenario, Traits } from './scenario.js';
export { type ScenarioBound, scenarioBound } from './scenario-bound.js';
export { parseScenario, readScenarioFile, type ScenarioFile, type ScenarioOptions } from './scenario-file.js';
export {
  type Averaged,
  type PolicyReport,
  type ScenarioReport,
  scenarioJson,
  scenarioReport,
  scenarioText,
} from './scenario-report.js';
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
} from './showcase.js';
export { type BatchRun, type Run, simulate } from './simulate.js';
export type { CellResult, Extent, Goal, Target } from './targets/target.js';
export { TARGET_NUMBERS, TARGETS } from './targets/targets.js';
export { type TournamentOptions, type TournamentProgress, tournament } from './tournament.js';
export { runScenario } from './tournament-scenario.js';
export { runShowcase, type ShowcaseRunOptions } from './tournament-showcase.js';
export { type ArenaOptions, FIRST_SEED, runArena } from './tournament-targets.js';
export { parseTrace, type Trace } from './trace-file.js';
