/** One probe of the knee search: a rate, held until it is clear whether it meets the target. */
import type { Clock } from 'batchwise';
import type { LoadReport } from '../report/load-report.js';
import type { LoadRun, RunSpec } from '../run/load-run.js';
import type { SeriesPoint } from '../statistics/statistics.js';
import type { TargetSpec } from '../targets/target-spec.js';
import { LOOKS, type SecondCounts, type ShareVerdict, testShare } from './share-test.js';

export type StartRun = (spec: RunSpec) => Promise<LoadRun>;

export interface RateProbe {
  readonly perSecond: number;
  readonly meets: boolean;
  /** Whether chance is excluded. */
  readonly isClear: boolean;
  /** How long the rate was held, and the requests that were counted after the warm-up. */
  readonly seconds: number;
  readonly requests: number;
  /** Of these requests, ok within the target from their intended start. */
  readonly shareWithin: number;
  /** Of requests that are ok, from the intended start; undefined without any. */
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  readonly meanBatchSize?: number;
  /** Why the generator may have missed the target by itself. */
  readonly generatorLimit?: string;
}

export interface ProbeSettings {
  readonly startRun: StartRun;
  readonly target: TargetSpec;
  readonly targetLatencyMs: number;
  readonly share: number;
  readonly secondsPerStep: number;
  readonly seed: number;
  readonly processes?: number | undefined;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

/** The first part of a probe fills the queue and opens connections: it does not count. */
const WARM_UP_SHARE = 0.1;
/** Near the knee the queue takes longer to fill. Half a step instead of a tenth: 1.9 % root mean square error, not 2.4 %. */
const CAREFUL_WARM_UP_SHARE = 0.5;
/**
 * A rate 5 % above the capacity lets the queue grow to the target within 20 targets. A step of 40 targets sees it in
 * half of its requests.
 */
const TARGETS_PER_STEP = 40;
/** Misses that end a probe at once: so many times those allowed in a whole step. */
const CLEAR_MISSES = 5;
const LOOK_EVERY_MS = 1000;
/**
 * Every probe begins with an idle target, and near the capacity the queue takes long to fill: a short probe meets the
 * target too easily. Near the capacity, four steps instead of one: 2.1 % root mean square error, not 3.3 %.
 */
const LEAST_CAREFUL_STEPS = 4;
/** The looks are after 1, 2, 4 and 8 steps. */
const MOST_STEPS = 2 ** (LOOKS - 1);
/** With more requests in flight than this many targets' worth, the mean latency is far above the target (Little's law). */
const TARGETS_IN_FLIGHT = 4;
const LEAST_IN_FLIGHT = 64;
/** Requests in flight are waited for, so that the next probe begins with an idle target. */
const LEAST_COOL_DOWN_SECONDS = 30;
const MOST_CPU_SHARE = 0.8;
/** Of the target latency: a mean delay between intended and actual start above it is the generator's. */
const MOST_SEND_DELAY = 0.1;
const MOST_RATE_ERROR = 0.01;

export function secondsOfStep(secondsPerStep: number, targetLatencyMs: number): number {
  return Math.ceil(Math.max(secondsPerStep, (TARGETS_PER_STEP * targetLatencyMs) / 1000));
}

/** @param isCareful near the knee: the target must be met for longer. */
export async function probeRate(
  perSecond: number,
  settings: ProbeSettings,
  isCareful: boolean,
): Promise<RateProbe> {
  const { startRun, target, targetLatencyMs, share, seed, processes, signal } = settings;
  const step = secondsOfStep(settings.secondsPerStep, targetLatencyMs);
  const warmUp = Math.ceil((isCareful ? CAREFUL_WARM_UP_SHARE : WARM_UP_SHARE) * step);
  const run = await startRun({
    work: { kind: 'target', target },
    traffic: {
      kind: 'arrivals',
      schedule: { kind: 'poisson', perSecond },
      maxInFlight: LEAST_IN_FLIGHT + Math.ceil((TARGETS_IN_FLIGHT * perSecond * targetLatencyMs) / 1000),
    },
    seconds: warmUp + MOST_STEPS * step,
    targetLatencyMs,
    seed,
    ...(processes !== undefined && { processes }),
    stopSeconds: Math.max(LEAST_COOL_DOWN_SECONDS, (TARGETS_PER_STEP * targetLatencyMs) / 1000),
  });
  const clearMisses = (countedSeconds: number) =>
    Math.max(1, CLEAR_MISSES * (1 - share) * perSecond * Math.max(step, countedSeconds));
  let nextLook = step;
  const isOver = (): boolean => {
    if (run.state === 'ended' || signal?.aborted) return true;
    const { series } = run.report();
    const counted = secondsAfter(warmUp, series);
    if (missesSoFar(series, warmUp, targetLatencyMs) > clearMisses(counted.length)) return true;
    if (counted.length < nextLook) return false;
    nextLook *= 2;
    const verdict = testShare(counted, share);
    return verdict.isClear && (!verdict.meets || !isCareful || counted.length >= LEAST_CAREFUL_STEPS * step);
  };
  await untilOver(run, isOver, settings);
  await run.stop();
  const report = await run.ended;
  const sendingSeconds = report.series.reduce(
    (end, { second, arrivals }) => (arrivals.due > 0 ? second + 1 : end),
    0,
  );
  const verdict = testShare(secondsAfter(warmUp, report.series, sendingSeconds), share);
  return probeOf(
    perSecond,
    report,
    sendingSeconds,
    missedAtOnce(verdict, clearMisses(sendingSeconds - warmUp)),
    targetLatencyMs,
  );
}

/** Looks once a second, and when the run ends by itself. */
function untilOver(run: LoadRun, isOver: () => boolean, { clock, signal }: ProbeSettings): Promise<void> {
  return new Promise((resolve) => {
    let timer: unknown;
    const look = (): void => {
      if (isOver()) end();
      else timer = clock.setTimer(look, LOOK_EVERY_MS);
    };
    const end = (): void => {
      clock.clearTimer(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    signal?.addEventListener('abort', end);
    void run.ended.then(end);
    timer = clock.setTimer(look, LOOK_EVERY_MS);
  });
}

/**
 * By the second in which requests end: requests and misses of a second are the same ones. What ends after the last
 * arrival was due counts in the last second of sending.
 */
function secondsAfter(
  warmUp: number,
  series: readonly SeriesPoint[],
  sendingSeconds = Number.POSITIVE_INFINITY,
): SecondCounts[] {
  const seconds: SecondCounts[] = [];
  for (const { second, ok, rejected, failed, good, arrivals } of series) {
    if (second < warmUp) continue;
    const requests = ok + rejected + failed + arrivals.notSent;
    const counts = { requests, misses: requests - good };
    const last = second >= sendingSeconds ? seconds.pop() : undefined;
    seconds.push({
      requests: counts.requests + (last?.requests ?? 0),
      misses: counts.misses + (last?.misses ?? 0),
    });
  }
  return seconds;
}

/**
 * Misses for certain: those that have ended, and all arrivals that have been due for longer than the target and have
 * no good response. The second kind is there when the target answers nothing.
 */
function missesSoFar(series: readonly SeriesPoint[], warmUp: number, targetLatencyMs: number): number {
  const now = (series.at(-1)?.second ?? -1) + 1;
  let ended = 0;
  let overdue = 0;
  for (const { second, ok, rejected, failed, good, arrivals } of series) {
    if (second < warmUp) continue;
    ended += ok + rejected + failed + arrivals.notSent - good;
    overdue -= good;
    if (second + 1 + targetLatencyMs / 1000 <= now) overdue += arrivals.due;
  }
  return Math.max(ended, overdue);
}

/** A probe that was ended because of its many misses is clear, however few its seconds. */
function missedAtOnce(verdict: ShareVerdict, clearMisses: number): ShareVerdict {
  return verdict.misses > clearMisses ? { ...verdict, meets: false, isClear: true } : verdict;
}

function probeOf(
  perSecond: number,
  report: LoadReport,
  sendingSeconds: number,
  { meets, isClear, requests, misses }: ShareVerdict,
  targetLatencyMs: number,
): RateProbe {
  const { intended, meanBatchSize } = report.total;
  const generatorLimit = generatorLimitOf(report, perSecond, sendingSeconds, targetLatencyMs);
  return {
    perSecond,
    meets,
    isClear,
    seconds: sendingSeconds,
    requests,
    shareWithin: requests === 0 ? 0 : 1 - misses / requests,
    ...(intended.count > 0 && { p50Ms: intended.p50, p99Ms: intended.p99 }),
    ...(meanBatchSize !== undefined && { meanBatchSize }),
    ...(generatorLimit !== undefined && { generatorLimit }),
  };
}

/** Arrivals that are not sent because too many are in flight are the target's; arrivals that are not even due are not. */
function generatorLimitOf(
  { generator, series, total }: LoadReport,
  perSecond: number,
  sendingSeconds: number,
  targetLatencyMs: number,
): string | undefined {
  // A 429 is the target's own answer: a slow generator is not its cause.
  if (total.rejected > total.count / 2) return undefined;
  const { meanCpuShare } = generator;
  if (meanCpuShare > MOST_CPU_SHARE) return `it used ${Math.round(100 * meanCpuShare)} % of a core`;
  const delayMs = total.intended.mean - total.latency.mean;
  if (delayMs > MOST_SEND_DELAY * targetLatencyMs)
    return `it sent requests ${delayMs.toFixed(1)} ms late on average`;
  // The last second may be cut short by the end of the probe.
  const whole = sendingSeconds - 1;
  const due = series.reduce((sum, { second, arrivals }) => sum + (second < whole ? arrivals.due : 0), 0);
  const expected = perSecond * whole;
  // Four standard deviations of a Poisson count are chance.
  if (due < (1 - MOST_RATE_ERROR) * expected - 4 * Math.sqrt(expected)) {
    return `it kept ${(due / whole).toFixed(0)}/s instead of ${perSecond.toFixed(0)}/s`;
  }
  return undefined;
}
