/** The ablation as a table: the effect of removing each rule, on average and in the family with the largest effect. */
import type { Cell } from '../grid/grid-cell.js';
import { exactNumber } from '../plan/plan-notation.js';
import { type Palette, PLAIN } from '../plan/plan-text.js';
import { alignedTable } from '../report/text-table.js';
import type { Extent } from '../targets/target.js';
import type { AblationResult } from './ablation.js';
import { familiesOf } from './ablation-cells.js';

/** All runs with one set of seeds, in the order of the cells. */
export interface AblationRuns {
  readonly cells: readonly Cell[];
  readonly complete: readonly AblationResult[];
  readonly without: ReadonlyMap<string, readonly AblationResult[]>;
}

/** The effect of removing a rule, with the seeds of tuning and with the others. NaN without cells. */
export interface Change {
  readonly tuning: number;
  readonly checking: number;
}

interface FamilyChange extends Change {
  readonly family: string;
}

export interface RuleReport {
  readonly rule: string;
  /** Of the geometric mean of mean latencies, in percent; cells without a target. */
  readonly meanLatency: Change;
  /** Of goodput, in percentage points; cells with a target. */
  readonly goodput: Change;
  /** The families in which the rule gains most. */
  readonly latencyFamily: FamilyChange | undefined;
  readonly goodputFamily: FamilyChange | undefined;
  readonly gainsEnough: boolean;
}

export interface AblationReport {
  readonly extent: Extent;
  readonly cells: number;
  readonly rules: readonly RuleReport[];
}

/** The gain that keeps a rule, with both sets of seeds, in all cells or in one family: percent, and points. */
const MIN_LATENCY_GAIN = 0.5;
const MIN_GOODPUT_GAIN = 2;

export function ablationReport(extent: Extent, tuning: AblationRuns, checking: AblationRuns): AblationReport {
  const families = [...new Set(tuning.cells.flatMap(familiesOf))];
  const rules = [...tuning.without.keys()].map((rule): RuleReport => {
    const change = (of: typeof latencyChange, family?: string): Change => ({
      tuning: of(tuning, rule, family),
      checking: of(checking, rule, family),
    });
    const latencies = families.map((family) => ({ family, ...change(latencyChange, family) }));
    const goodputs = families.map((family) => ({ family, ...change(goodputChange, family) }));
    const meanLatency = change(latencyChange);
    return {
      rule,
      meanLatency,
      goodput: change(goodputChange),
      latencyFamily: mostGain(latencies, 1),
      goodputFamily: mostGain(goodputs, -1),
      gainsEnough:
        [meanLatency, ...latencies].some((gain) => leastOf(gain, 1) >= MIN_LATENCY_GAIN) ||
        goodputs.some((gain) => leastOf(gain, -1) >= MIN_GOODPUT_GAIN),
    };
  });
  return { extent, cells: tuning.cells.length, rules };
}

/** The smaller gain of the two sets of seeds. */
function leastOf({ tuning, checking }: Change, sign: 1 | -1): number {
  return Math.min(sign * tuning, sign * checking);
}

function mostGain(changes: readonly FamilyChange[], sign: 1 | -1): FamilyChange | undefined {
  const known = changes.filter(({ checking }) => !Number.isNaN(checking));
  return known.sort((a, b) => leastOf(b, sign) - leastOf(a, sign))[0];
}

function latencyChange(runs: AblationRuns, rule: string, family?: string): number {
  const logs = pairsOf(runs, rule, false, family).map(({ complete, without }) =>
    Math.log(without.meanMs / complete.meanMs),
  );
  return 100 * (Math.exp(mean(logs)) - 1);
}

function goodputChange(runs: AblationRuns, rule: string, family?: string): number {
  return (
    100 *
    mean(pairsOf(runs, rule, true, family).map(({ complete, without }) => without.goodput - complete.goodput))
  );
}

function pairsOf(
  { cells, complete, without }: AblationRuns,
  rule: string,
  hasTarget: boolean,
  family: string | undefined,
): { complete: AblationResult; without: AblationResult }[] {
  const removed = without.get(rule) ?? [];
  return cells.flatMap((cell, i) => {
    const isCounted = (cell.targetFactor !== undefined) === hasTarget;
    if (!isCounted || (family !== undefined && !familiesOf(cell).includes(family))) return [];
    return [{ complete: complete[i] as AblationResult, without: removed[i] as AblationResult }];
  });
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

const HEAD = [
  'rule removed',
  'mean latency',
  'checking',
  'most in a family',
  'checking',
  'family',
  'goodput',
  'checking',
  'most in a family',
  'checking',
  'family',
  'gains enough',
];

export function ablationText({ extent, cells, rules }: AblationReport, palette: Palette = PLAIN): string {
  const rows = rules.map(({ rule, meanLatency, goodput, latencyFamily, goodputFamily, gainsEnough }) => [
    rule,
    ...written(meanLatency, ' %'),
    ...formatFamily(latencyFamily, ' %'),
    ...written(goodput, ''),
    ...formatFamily(goodputFamily, ''),
    gainsEnough ? palette.good('yes') : palette.bad('no'),
  ]);
  const idle = rules.filter(({ gainsEnough }) => !gainsEnough).map(({ rule }) => rule);
  const criterion = `${MIN_LATENCY_GAIN} % of mean latency or ${MIN_GOODPUT_GAIN} points of goodput in a family, with both sets of seeds`;
  return [
    palette.faint(
      `${cells} cells (${extent}), each with seeds of tuning and of checking. The effect of removing each rule:\n` +
        'mean latency without a target, in percent (geometric mean); goodput with a target, in percentage points.',
    ),
    alignedTable(
      [HEAD.map((title) => palette.heading(title)), ...rows],
      HEAD.map((title) => (['rule removed', 'family', 'gains enough'].includes(title) ? 'left' : 'right')),
    ),
    idle.length === 0
      ? `Every rule gains ${criterion}.\n`
      : `Without the required gain (${criterion}): ${idle.join(', ')}.\n`,
  ].join('\n\n');
}

function written({ tuning, checking }: Change, unit: string): [string, string] {
  return [signed(tuning, unit), signed(checking, unit)];
}

function formatFamily(change: FamilyChange | undefined, unit: string): [string, string, string] {
  return change === undefined ? ['–', '–', ''] : [...written(change, unit), change.family];
}

function signed(value: number, unit: string): string {
  if (Number.isNaN(value)) return '–';
  const digits = Math.abs(value) < 10 ? 2 : 1;
  const sign = value > 0 ? '+' : value < 0 ? '−' : '';
  return `${sign}${Math.abs(value).toFixed(digits)}${unit}`;
}

export function ablationJson({ extent, cells, rules }: AblationReport): Record<string, unknown> {
  return {
    extent,
    cells,
    rules: rules.map(({ rule, meanLatency, goodput, latencyFamily, goodputFamily, gainsEnough }) => ({
      rule,
      mean_latency_percent: changeJson(meanLatency),
      goodput_points: changeJson(goodput),
      latency_family: familyJson(latencyFamily),
      goodput_family: familyJson(goodputFamily),
      gains_enough: gainsEnough,
    })),
  };
}

function changeJson({ tuning, checking }: Change): Record<string, unknown> {
  return { tuning: exactNumber(tuning), checking: exactNumber(checking) };
}

function familyJson(change: FamilyChange | undefined): Record<string, unknown> | null {
  return change === undefined ? null : { family: change.family, ...changeJson(change) };
}
