/** What the policies come to in a scenario of the user's, averaged over its seeds, as text and as JSON. */

import type { ScenarioBound } from '../files/scenario-bound.js';
import type { ScenarioFile } from '../files/scenario-file.js';
import { exactNumber, writtenBatch, writtenCount, writtenMs, writtenShare } from '../plan/plan-notation.js';
import { type Palette, PLAIN } from '../plan/plan-text.js';
import type { Measures } from '../simulation/measures.js';
import { alignedTable } from './text-table.js';

/** Over the seeds. */
export interface Averaged {
  readonly average: number;
  /** The standard deviation between seeds; NaN with one seed. */
  readonly spread: number;
}

type AveragedMeasures = { readonly [Key in keyof Measures]: Averaged };

export interface PolicyReport {
  readonly policy: string;
  readonly measures: AveragedMeasures;
  /** What the bound is about, as a multiple of the bound. */
  readonly toBound: number | undefined;
}

export interface ScenarioReport {
  readonly name: string;
  readonly curve: string;
  readonly slots: number;
  readonly targetMs: number;
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
  const { curve, slots, targetMs } = first;
  return {
    name,
    curve: curve.name,
    slots,
    targetMs,
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
  return { average, spread: values.length < 2 ? Number.NaN : Math.sqrt(squares / (values.length - 1)) };
}

const HEAD = [
  'policy',
  'mean',
  'p50',
  'p99',
  'in time',
  'refused',
  'busy',
  'batches',
  'batch size',
  'of bound',
];

export function scenarioText(report: ScenarioReport, palette: Palette = PLAIN): string {
  const { name, curve, slots, targetMs, items, seeds, bound, policies } = report;
  const target = targetMs === Number.POSITIVE_INFINITY ? 'no target' : `target ${targetMs} ms`;
  const many = seeds.length === 1 ? `seed ${seeds[0]}` : `${seeds.length} seeds`;
  const about = `${name}: curve ${curve}, ${slots} ${slots === 1 ? 'slot' : 'slots'}, ${items} items, ${target}, ${many}`;
  const rows = policies.map(({ policy, measures: m, toBound }) => [
    policy,
    spreadOut(m.meanMs, writtenMs),
    writtenMs(m.p50Ms.average),
    spreadOut(m.p99Ms, writtenMs),
    targetMs === Number.POSITIVE_INFINITY ? '–' : spreadOut(m.goodput, writtenShare),
    writtenShare(m.refused.average),
    writtenMs(m.busyMs.average),
    writtenCount(m.batches.average),
    writtenBatch(m.meanBatchSize.average),
    toBound === undefined ? '–' : toBound.toFixed(3),
  ]);
  return [
    palette.faint(about),
    alignedTable(
      [HEAD.map((title) => palette.heading(title)), ...rows],
      ['left', ...HEAD.slice(1).map(() => 'right' as const)],
    ),
    `${boundLine(bound)}\n`,
  ].join('\n\n');
}

function spreadOut({ average, spread }: Averaged, written: (value: number) => string): string {
  return Number.isNaN(spread) ? written(average) : `${written(average)} ± ${written(spread)}`;
}

function boundLine(bound: ScenarioReport['bound']): string {
  if (bound === undefined) return 'No bound is known for such a scenario.';
  const value = bound.measure === 'goodput' ? writtenShare(bound.average) : writtenMs(bound.average);
  switch (bound.kind) {
    case 'optimum':
      return `Bound: a mean of ${value} is the optimum of all policies.`;
    case 'clairvoyant':
      return `Bound: ${value} could be in time for somebody who knew all arrivals beforehand.`;
    case 'fluid':
      return `Bound: ${value} could be in time if no item needed company; nobody gets quite there.`;
    case 'reference':
      return `For comparison, no bound: a mean of ${value} when all slots take equal shares of the users.`;
  }
}

export function scenarioJson(report: ScenarioReport): Record<string, unknown> {
  const { name, curve, slots, targetMs, items, seeds, bound, policies } = report;
  return {
    name,
    curve,
    slots,
    target_ms: exactNumber(targetMs),
    items,
    seeds,
    bound:
      bound === undefined
        ? null
        : {
            measure: bound.measure,
            kind: bound.kind,
            value: exactNumber(bound.average),
            spread: exactNumber(bound.spread),
          },
    policies: policies.map(({ policy, measures, toBound }) => ({
      policy,
      ...measuresJson(measures, 'average'),
      to_bound: exactNumber(toBound),
      spread: measuresJson(measures, 'spread'),
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
