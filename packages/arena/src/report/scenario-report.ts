/** The report of a scenario file, averaged over its seeds, as text and as JSON. */

import type { ScenarioBound } from '../files/scenario-bound.js';
import type { ScenarioFile } from '../files/scenario-file.js';
import { exactNumber, formatBatch, formatCount, formatMs, formatShare } from '../plan/plan-notation.js';
import { type Palette, PLAIN } from '../plan/plan-text.js';
import type { Measures } from '../simulation/measures.js';
import { alignedTable } from './text-table.js';

/** Average over the seeds. */
export interface Averaged {
  readonly average: number;
  /** The standard deviation between seeds; NaN with one seed. */
  readonly standardDeviation: number;
}

type AveragedMeasures = { readonly [Key in keyof Measures]: Averaged };

export interface PolicyReport {
  readonly policy: string;
  readonly measures: AveragedMeasures;
  /** The bounded measure ÷ the bound. */
  readonly toBound: number | undefined;
}

export interface ScenarioReport {
  readonly name: string;
  readonly curve: string;
  readonly slots: number;
  readonly targetLatencyMs: number;
  readonly items: number;
  readonly seeds: readonly number[];
  readonly bound: (Omit<ScenarioBound, 'value'> & Averaged) | undefined;
  readonly policies: readonly PolicyReport[];
}

export function scenarioReport(
  { name, scenarios }: ScenarioFile,
  bounds: readonly (ScenarioBound | undefined)[],
  measures: ReadonlyMap<string, readonly Measures[]>,
): ScenarioReport {
  const [first] = scenarios;
  if (first === undefined) throw new RangeError('A scenario has at least one seed.');
  const known = bounds.filter((bound) => bound !== undefined);
  const [kind] = known;
  const bound =
    kind === undefined
      ? undefined
      : { measure: kind.measure, kind: kind.kind, ...averaged(known.map(({ value }) => value)) };
  const { curve, slots, targetLatencyMs } = first;
  return {
    name,
    curve: curve.name,
    slots,
    targetLatencyMs,
    items: first.items,
    seeds: scenarios.map(({ seed }) => seed),
    bound,
    policies: [...measures].map(([policy, runs]) => {
      const means = averagedMeasures(runs);
      const bounded = bound?.measure === 'goodput' ? means.goodput : means.meanMs;
      return { policy, measures: means, toBound: bound && bounded.average / bound.average };
    }),
  };
}

function averagedMeasures(runs: readonly Measures[]): AveragedMeasures {
  const keys = Object.keys(runs[0] ?? {}) as (keyof Measures)[];
  return Object.fromEntries(
    keys.map((key) => [key, averaged(runs.map((run) => run[key]))]),
  ) as unknown as AveragedMeasures;
}

function averaged(values: readonly number[]): Averaged {
  const average = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - average) ** 2, 0);
  const standardDeviation = values.length < 2 ? Number.NaN : Math.sqrt(squares / (values.length - 1));
  return { average, standardDeviation };
}

const HEAD = [
  'policy',
  'mean',
  'p50',
  'p99',
  'on time',
  'rejected',
  'busy',
  'batches',
  'batch size',
  'of bound',
];

export function scenarioText(report: ScenarioReport, palette: Palette = PLAIN): string {
  const { name, curve, slots, targetLatencyMs, items, seeds, bound, policies } = report;
  const target = targetLatencyMs === Number.POSITIVE_INFINITY ? 'no target' : `target ${targetLatencyMs} ms`;
  const runs = seeds.length === 1 ? `seed ${seeds[0]}` : `${seeds.length} seeds`;
  const head = `${name}: curve ${curve}, ${slots} ${slots === 1 ? 'slot' : 'slots'}, ${items} items, ${target}, ${runs}`;
  const rows = policies.map(({ policy, measures: m, toBound }) => [
    policy,
    withDeviation(m.meanMs, formatMs),
    formatMs(m.p50Ms.average),
    withDeviation(m.p99Ms, formatMs),
    targetLatencyMs === Number.POSITIVE_INFINITY ? '–' : withDeviation(m.goodput, formatShare),
    formatShare(m.refused.average),
    formatMs(m.busyMs.average),
    formatCount(m.batches.average),
    formatBatch(m.meanBatchSize.average),
    toBound === undefined ? '–' : toBound.toFixed(3),
  ]);
  return [
    palette.faint(head),
    alignedTable(
      [HEAD.map((title) => palette.heading(title)), ...rows],
      ['left', ...HEAD.slice(1).map(() => 'right' as const)],
    ),
    `${boundLine(bound)}\n`,
  ].join('\n\n');
}

function withDeviation({ average, standardDeviation }: Averaged, written: (value: number) => string): string {
  const mean = written(average);
  return Number.isNaN(standardDeviation) ? mean : `${mean} ± ${written(standardDeviation)}`;
}

function boundLine(bound: ScenarioReport['bound']): string {
  if (bound === undefined) return 'No bound is known for this scenario.';
  const value = bound.measure === 'goodput' ? formatShare(bound.average) : formatMs(bound.average);
  switch (bound.kind) {
    case 'optimum':
      return `Bound: the optimum of all policies has a mean of ${value}.`;
    case 'clairvoyant':
      return `Bound: at most ${value} on time (clairvoyant: all arrivals known in advance).`;
    case 'fluid':
      return `Bound: at most ${value} on time (fluid limit, a loose bound).`;
    case 'reference':
      return `Reference, not a bound: a mean of ${value} with an equal share of users per slot.`;
  }
}

export function scenarioJson(report: ScenarioReport): Record<string, unknown> {
  const { name, curve, slots, targetLatencyMs, items, seeds, bound, policies } = report;
  return {
    name,
    curve,
    slots,
    target_latency_ms: exactNumber(targetLatencyMs),
    items,
    seeds,
    bound:
      bound === undefined
        ? null
        : {
            measure: bound.measure,
            kind: bound.kind,
            value: exactNumber(bound.average),
            standard_deviation: exactNumber(bound.standardDeviation),
          },
    policies: policies.map(({ policy, measures, toBound }) => ({
      policy,
      ...measuresJson(measures, 'average'),
      to_bound: exactNumber(toBound),
      standard_deviation: measuresJson(measures, 'standardDeviation'),
    })),
  };
}

function measuresJson(measures: AveragedMeasures, of: keyof Averaged): Record<string, number | null> {
  return {
    mean_ms: exactNumber(measures.meanMs[of]),
    p50_ms: exactNumber(measures.p50Ms[of]),
    p99_ms: exactNumber(measures.p99Ms[of]),
    goodput: exactNumber(measures.goodput[of]),
    refused: exactNumber(measures.refused[of]),
    busy_ms: exactNumber(measures.busyMs[of]),
    batches: exactNumber(measures.batches[of]),
    mean_batch_size: exactNumber(measures.meanBatchSize[of]),
  };
}
