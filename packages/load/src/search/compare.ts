/**
 * Two targets under the same arrivals, in turn. Each pair of blocks plays one draw of the arrivals on both targets; a
 * coin decides which target is first; a block begins when no request of the block before is in flight. Blocks in turn
 * do not disturb each other, and a machine that becomes slower during the comparison slows both.
 */
import { randomStream } from '@batchwise/arena';
import { LoadError } from '../load-error.js';
import type { LoadReport } from '../report/load-report.js';
import type { ArrivalSchedule } from '../run/traffic.js';
import type { TargetSpec } from '../targets/target-spec.js';
import type { StartRun } from './rate-probe.js';
import { LEAST_PAIRS, type PairedInterval, signFlipIntervals } from './sign-flip-test.js';

export interface CompareOptions {
  readonly startRun: StartRun;
  readonly a: TargetSpec;
  readonly b: TargetSpec;
  readonly arrivals: ArrivalSchedule;
  /** Of a block. @default 10; a trace: until its end */
  readonly secondsPerBlock?: number;
  /** At least 6; one more pair warms the targets up. @default 12 */
  readonly pairs?: number;
  /** With it, the share of requests within it is compared, too. */
  readonly targetLatencyMs?: number;
  /** @default 1 */
  readonly seed?: number;
  /** @default 10_000 */
  readonly maxInFlight?: number;
  /** @default 1 */
  readonly processes?: number;
  /** Ends the comparison after the block that runs: complete pairs are compared. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: CompareProgress) => void;
}

export interface CompareProgress {
  /** `pair 3 of 12: A`. */
  readonly doing: string;
  /** Of the whole comparison, from 0 to 1. */
  readonly share: number;
  /** From 1; 0 is the warm-up. */
  readonly pair: number;
  readonly pairs: number;
  readonly target: 'a' | 'b';
}

export type MetricName = 'mean_ms' | 'p50_ms' | 'p99_ms' | 'good_share' | 'failed_share';

/** Latencies are from the intended start, of requests that are ok. Shares are of all arrivals. */
export interface ComparedMetric extends PairedInterval {
  readonly name: MetricName;
  /** Means over the pairs. */
  readonly a: number;
  readonly b: number;
  /** B minus A, pair by pair. */
  readonly differences: readonly number[];
}

export interface Comparison {
  readonly a: string;
  readonly b: string;
  readonly pairs: number;
  readonly requestsPerBlock: number;
  readonly seed: number;
  readonly targetLatencyMs?: number;
  readonly metrics: readonly ComparedMetric[];
  /** Whether any metric differs: wrong in at most 5 % of comparisons of equal targets. */
  readonly differs: boolean;
  /** What makes the figures doubtful: the generator's warnings, the worst of each kind. */
  readonly warnings: readonly string[];
}

type Block = Partial<Readonly<Record<MetricName, number>>>;

const DEFAULT_PAIRS = 12;
const DEFAULT_SECONDS = 10;
const DEFAULT_IN_FLIGHT = 10_000;
/** Requests in flight are waited for, so that the next block begins with an idle target. */
const COOL_DOWN_SECONDS = 60;
const METRICS: readonly MetricName[] = ['mean_ms', 'p50_ms', 'p99_ms', 'good_share', 'failed_share'];

export async function compare(options: CompareOptions): Promise<Comparison> {
  const { a, b, arrivals, pairs = DEFAULT_PAIRS, seed = 1, targetLatencyMs, signal, onProgress } = options;
  if (!(Number.isInteger(pairs) && pairs >= LEAST_PAIRS)) {
    throw new LoadError(
      'INVALID_OPTION',
      `pairs: expected a whole number from ${LEAST_PAIRS}, got ${pairs}.`,
    );
  }
  const seconds = options.secondsPerBlock ?? (arrivals.kind === 'trace' ? undefined : DEFAULT_SECONDS);
  if (seconds !== undefined && !(seconds > 0)) {
    throw new LoadError('INVALID_OPTION', `secondsPerBlock: expected more than 0, got ${seconds}.`);
  }
  const coin = randomStream(seed, 'order');
  const blocks: { readonly a: LoadReport; readonly b: LoadReport }[] = [];
  let played = 0;
  for (let pair = 0; pair <= pairs && !signal?.aborted; pair++) {
    const play = async (target: 'a' | 'b'): Promise<LoadReport> => {
      const doing = `${pair === 0 ? 'warm-up' : `pair ${pair} of ${pairs}`}: ${target.toUpperCase()}`;
      onProgress?.({ doing, share: played++ / (2 * (pairs + 1)), pair, pairs, target });
      const run = await options.startRun({
        work: { kind: 'target', target: target === 'a' ? a : b },
        traffic: {
          kind: 'arrivals',
          schedule: arrivals,
          maxInFlight: options.maxInFlight ?? DEFAULT_IN_FLIGHT,
        },
        ...(seconds !== undefined && { seconds }),
        ...(targetLatencyMs !== undefined && { targetLatencyMs }),
        ...(options.processes !== undefined && { processes: options.processes }),
        // Seeds are 32 bits.
        seed: (seed + pair) % 2 ** 32,
        stopSeconds: COOL_DOWN_SECONDS,
      });
      return untilEnded(run, signal);
    };
    const isAFirst = coin() < 0.5;
    const first = await play(isAFirst ? 'a' : 'b');
    if (signal?.aborted) break;
    const second = await play(isAFirst ? 'b' : 'a');
    // The first pair warms up connections and targets; a pair that was cut short is none.
    if (pair > 0 && !signal?.aborted)
      blocks.push(isAFirst ? { a: first, b: second } : { a: second, b: first });
  }
  return comparisonOf(options, blocks);
}

async function untilEnded(
  run: Awaited<ReturnType<StartRun>>,
  signal: AbortSignal | undefined,
): Promise<LoadReport> {
  const stop = () => void run.stop();
  signal?.addEventListener('abort', stop);
  if (signal?.aborted) stop();
  try {
    return await run.ended;
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

function comparisonOf(
  { a, b, seed = 1, targetLatencyMs }: CompareOptions,
  blocks: readonly { readonly a: LoadReport; readonly b: LoadReport }[],
): Comparison {
  const measured = blocks.map((pair) => ({ a: blockOf(pair.a), b: blockOf(pair.b) }));
  // A block without any response that is ok has no latency: then latencies are not compared.
  const names = METRICS.filter(
    (name) =>
      measured.length > 0 &&
      measured.every((pair) => pair.a[name] !== undefined && pair.b[name] !== undefined),
  );
  const values = (name: MetricName, of: 'a' | 'b') => measured.map((pair) => pair[of][name] as number);
  const differences = names.map((name) =>
    measured.map((pair) => (pair.b[name] as number) - (pair.a[name] as number)),
  );
  const intervals = signFlipIntervals(differences, randomStream(seed, 'flips'));
  const metrics = names.map((name, i) => ({
    name,
    a: meanOf(values(name, 'a')),
    b: meanOf(values(name, 'b')),
    differences: differences[i] as readonly number[],
    ...(intervals[i] as PairedInterval),
  }));
  const reports = blocks.flatMap((pair) => [pair.a, pair.b]);
  return {
    a: a.url,
    b: b.url,
    pairs: blocks.length,
    requestsPerBlock: meanOf(reports.map(arrivalsOf)),
    seed,
    ...(targetLatencyMs !== undefined && { targetLatencyMs }),
    metrics,
    differs: metrics.some(({ differs }) => differs),
    warnings: worstOfEach(reports.flatMap(({ warnings }) => warnings)),
  };
}

/** Every block has warnings of its own, which differ in their figures only. The largest first figure is the worst. */
export function worstOfEach(warnings: readonly string[]): string[] {
  const worst = new Map<string, string>();
  for (const warning of warnings) {
    const kind = warning.replace(NUMBER, '#');
    const known = worst.get(kind);
    if (known === undefined || firstNumber(warning) > firstNumber(known)) worst.set(kind, warning);
  }
  return [...worst.values()];
}

const NUMBER = /\d+(?:\.\d+)?/g;

function firstNumber(text: string): number {
  return Number(text.match(NUMBER)?.[0] ?? 0);
}

function blockOf(report: LoadReport): Block {
  const { ok, good, failed, intended } = report.total;
  const arrivals = arrivalsOf(report);
  return {
    ...(ok > 0 && { mean_ms: intended.mean, p50_ms: intended.p50, p99_ms: intended.p99 }),
    ...(report.targetLatencyMs !== undefined && arrivals > 0 && { good_share: good / arrivals }),
    ...(arrivals > 0 && { failed_share: failed / arrivals }),
  };
}

/** All that were due, sent or not. */
function arrivalsOf({ arrivals, total }: LoadReport): number {
  return total.count + (arrivals?.notSent ?? 0);
}

function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
