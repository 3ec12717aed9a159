export { LoadError, type LoadErrorCode } from './load-error.js';
export { type LoadPage, type LoadPageOptions, startLoadPage } from './page/load-page.js';
export type { DownloadName, Downloads } from './page/page-routes.js';
export { liveTable } from './report/live-table.js';
export type {
  ArrivalFigures,
  BatchSizeFigures,
  FailureFigures,
  GeneratorFigures,
  LoadReport,
  RequestFigures,
  RunState,
  TrafficFacts,
  Verdict,
} from './report/load-report.js';
export { failuresCsv, historyCsv, statsCsv } from './report/locust-csv.js';
export { progressLine } from './report/progress-line.js';
export { reportHtml } from './report/report-html.js';
export { reportJson } from './report/report-json.js';
export { reportText } from './report/report-text.js';
export { judge, parseThreshold, type Threshold } from './report/threshold.js';
export type { LoadRun, RunSpec } from './run/load-run.js';
export type { ShapeStep } from './run/load-shape.js';
export { startRun } from './run/start-run.js';
export type { ArrivalSchedule, ArrivalTraffic, Traffic, UsersTraffic, WaitTime } from './run/traffic.js';
export {
  defineLoad,
  defineUser,
  type LoadDefinition,
  type SequenceTask,
  type Task,
  type TaskFunction,
  type UserKind,
} from './scenario/define-load.js';
export type { LoadResponse, LoadUser, RequestOptions, UserTarget } from './scenario/load-user.js';
export { between, constant, pacing } from './scenario/wait-times.js';
export {
  type ComparedMetric,
  type CompareOptions,
  type CompareProgress,
  type Comparison,
  compare,
  type MetricName,
} from './search/compare.js';
export { compareChart } from './search/compare-chart.js';
export { compareJson } from './search/compare-json.js';
export { compareText } from './search/compare-text.js';
export {
  findKnee,
  type Knee,
  type KneeKind,
  type KneeOptions,
  type KneeProgress,
} from './search/find-knee.js';
export { kneeChart } from './search/knee-chart.js';
export { kneeJson } from './search/knee-json.js';
export { kneeText } from './search/knee-text.js';
export type { RateProbe, StartRun } from './search/rate-probe.js';
export { type ScenarioOptions, scenarioJson } from './search/scenario-json.js';
export { type CurveOptions, type ServiceCurve, serviceCurve } from './search/service-curve.js';
export type { PairedInterval } from './search/sign-flip-test.js';
export { traceText } from './search/trace-text.js';
export type { Percentiles } from './statistics/histogram.js';
export type { SeriesPoint } from './statistics/statistics.js';
export { checkTargetSpec } from './targets/check-target-spec.js';
export { createTarget } from './targets/create-target.js';
export { functionTarget } from './targets/function-target.js';
export type { HttpDone, HttpRequest, HttpResponse } from './targets/http-connection.js';
export { HttpConnections, type HttpConnectionsOptions } from './targets/http-connections.js';
export { readSamples } from './targets/read-samples.js';
export type { Outcome, OutcomeKind, Target } from './targets/target.js';
export type { Sample, SuccessRule, TargetSpec } from './targets/target-spec.js';
