/** Random scenarios in which the adaptive policy is compared with greedy dispatch. */
import { parseScenario } from '../files/scenario-file.js';
import { peer } from '../peers/peers.js';
import { firstItemFrom, type Measures, measure } from '../simulation/measures.js';
import { CONTENDERS, VARIANTS } from '../simulation/our-contenders.js';
import type { Contender, Scenario } from '../simulation/scenario.js';
import { simulate } from '../simulation/simulate.js';
import { type TournamentOptions, tournament } from '../tournament/tournament.js';
import { randomScenario } from './random-scenario.js';

/** Maximum mean latency, as a multiple of that of greedy dispatch. */
export const MAX_LATENCY_RATIO = 1.05;
/** Maximum loss of goodput, as a share of all items. */
export const MAX_GOODPUT_LOSS = 0.02;
/**
 * A scenario that exceeds a limit with one seed is run with more seeds. It is harmed if the average exceeds the limit
 * by more than `CLEAR` standard errors.
 */
const MORE_SEEDS = [4, 16];
const CLEAR = 2.5;
const SEED_STEP = 100_003;
/** With fewer items the generator of the scenario has a mistake. */
const MIN_ITEMS = 100;

export interface HarmResult {
  readonly seed: number;
  readonly tags: readonly string[];
  /** The content of a scenario file with all seeds that were run. */
  readonly file: Readonly<Record<string, unknown>>;
  /** Mean latency ÷ that of greedy dispatch. */
  readonly latencyRatio: number;
  /** Goodput minus that of greedy dispatch, as a share of all items; 0 without a target. */
  readonly goodputGain: number;
  readonly rejected: number;
  readonly isHarmed: boolean;
}

export interface HarmJob {
  readonly kind: 'harm';
  readonly seed: number;
}

export interface HarmOptions extends TournamentOptions {
  readonly count: number;
  /** @default 1 */
  readonly firstSeed?: number | undefined;
}

export function runHarm({ count, firstSeed = 1, ...options }: HarmOptions): Promise<HarmResult[]> {
  const jobs = Array.from({ length: count }, (_, i) => ({ kind: 'harm' as const, seed: firstSeed + i }));
  return tournament(jobs, options);
}

export async function playHarm({ seed }: HarmJob): Promise<HarmResult> {
  const drawn = randomScenario(seed);
  const seeds = [seed];
  const pairs: Pair[] = [];
  for (const count of [1, ...MORE_SEEDS]) {
    while (seeds.length < count) seeds.push(seed + seeds.length * SEED_STEP);
    const file = { ...drawn.file, seeds };
    for (const scenario of parsed(file).slice(pairs.length)) {
      pairs.push({
        ours: await measured(scenario, VARIANTS.adaptive),
        greedy: await measured(scenario, peer('greedy')),
      });
    }
    const { isSuspicious, isClear } = verdictOf(pairs);
    if (isSuspicious && !isClear && count !== MORE_SEEDS.at(-1)) continue;
    return {
      seed,
      tags: drawn.tags,
      file,
      latencyRatio: mean(pairs, ({ ours }) => ours.meanMs) / mean(pairs, ({ greedy }) => greedy.meanMs),
      goodputGain: mean(pairs, ({ ours, greedy }) => ours.goodput - greedy.goodput),
      rejected: mean(pairs, ({ ours }) => ours.refused),
      isHarmed: isClear,
    };
  }
  throw new Error('There is always a last number of seeds.');
}

/** Both policies with the same seed. */
interface Pair {
  readonly ours: Measures;
  readonly greedy: Measures;
}

function verdictOf(pairs: readonly Pair[]): { readonly isSuspicious: boolean; readonly isClear: boolean } {
  const excesses = [
    // A policy without any response has no mean latency.
    pairs.map(
      ({ ours, greedy }) => (ours.meanMs || Number.POSITIVE_INFINITY) / greedy.meanMs - MAX_LATENCY_RATIO,
    ),
    pairs.map(({ ours, greedy }) => greedy.goodput - ours.goodput - MAX_GOODPUT_LOSS),
  ].map((values) => {
    const excess = mean(values, (value) => value);
    const squares = values.reduce((sum, value) => sum + (value - excess) ** 2, 0);
    return { excess, standardError: Math.sqrt(squares / (values.length - 1) / values.length) };
  });
  return {
    isSuspicious: excesses.some(({ excess }) => excess > 0),
    isClear: excesses.some(({ excess, standardError }) => excess > CLEAR * standardError),
  };
}

function parsed(file: HarmResult['file']): readonly Scenario[] {
  const options = { contenders: CONTENDERS, readFile: () => '' };
  return parseScenario(JSON.stringify(file), `${file.name}.json`, options).scenarios;
}

async function measured(scenario: Scenario, contender: Contender): Promise<Measures> {
  const run = await simulate(scenario, contender);
  const measures = measure(run, firstItemFrom(run));
  if (measures.items < MIN_ITEMS)
    throw new Error(`${scenario.name}: only ${measures.items} items to measure.`);
  return measures;
}

function mean<T>(of: readonly T[], value: (item: T) => number): number {
  return of.reduce((sum, item) => sum + value(item), 0) / of.length;
}
