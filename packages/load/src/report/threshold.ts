/** Thresholds that make a run fail, as `p99 > 100ms`: the rule says when the run fails, not when it passes. */
import { didYouMean } from 'batchwise';
import { LoadError } from '../load-error.js';
import type { LoadReport, Verdict } from './load-report.js';
import { KNOWN_METRICS, METRICS, type Metric, type Quantity } from './threshold-metrics.js';

export type Comparison = '>' | '>=' | '<' | '<=';

export interface Threshold {
  /** As given. */
  readonly rule: string;
  readonly metric: string;
  readonly quantity: Quantity;
  readonly comparison: Comparison;
  /** In milliseconds, per second, or as a share from 0 to 1. */
  readonly limit: number;
}

const RULE = /^\s*([\p{L}_][\p{L}\p{N}_.-]*)\s*(>=|<=|>|<)\s*(\d+(?:\.\d*)?|\.\d+)\s*(\S*)\s*$/u;
const EXAMPLES = "'p99 > 100ms', 'error_rate > 1%', 'goodput < 500/s', 'batch_size < 4'";

/** @throws {LoadError} INVALID_OPTION */
export function parseThreshold(rule: string): Threshold {
  const [, name, comparison, digits, unit] = RULE.exec(rule) ?? [];
  if (name === undefined || comparison === undefined || digits === undefined || unit === undefined) {
    throw invalid(rule, `Expected a name, one of > >= < <= and a number with its unit, such as ${EXAMPLES}.`);
  }
  const metrics = METRICS.get(name);
  if (metrics === undefined) {
    throw invalid(rule, `${name} is unknown.${didYouMean(name, METRICS.keys())} Known: ${KNOWN_METRICS}.`);
  }
  const quantity = quantityOf(rule, name, metrics, unit);
  return {
    rule,
    metric: name,
    quantity,
    comparison: comparison as Comparison,
    limit: limitOf(rule, name, quantity, Number(digits), unit),
  };
}

/** A rule without a value is broken: a run in which every request failed has no p99, and must not pass. */
export function judge(report: LoadReport, thresholds: readonly Threshold[]): Verdict[] {
  return thresholds.map(({ rule, metric, quantity, comparison, limit }) => {
    const value = METRICS.get(metric)
      ?.find((one) => one.quantity === quantity)
      ?.valueOf(report);
    return value === undefined
      ? { rule, value: Number.NaN, isBroken: true }
      : { rule, value, isBroken: applies(value, comparison, limit) };
  });
}

const UNITS: Readonly<Record<Quantity, readonly string[]>> = {
  latency: ['ms', 's', ''],
  share: ['%', ''],
  rate: ['/s', ''],
  number: [''],
};

function quantityOf(rule: string, name: string, metrics: readonly Metric[], unit: string): Quantity {
  const found = metrics.find(({ quantity }) => UNITS[quantity].includes(unit));
  if (found !== undefined) return found.quantity;
  const units = metrics.flatMap(({ quantity }) => UNITS[quantity]).filter((one) => one !== '');
  const expected = units.length === 0 ? 'no unit' : `the unit ${units.join(' or ')}`;
  throw invalid(rule, `${name} has ${expected}, not ${unit}.`);
}

function limitOf(rule: string, name: string, quantity: Quantity, number: number, unit: string): number {
  if (quantity === 'latency') return unit === 's' ? number * 1000 : number;
  if (quantity !== 'share') return number;
  // 1 would be 100 % by the letter, and 1 % is meant.
  if (unit === '' && number >= 1)
    throw invalid(rule, `Expected a share with its unit: ${name} > ${number}%.`);
  const share = unit === '%' ? number / 100 : number;
  if (share > 1) throw invalid(rule, `${name} is a share, from 0% to 100%.`);
  return share;
}

function applies(value: number, comparison: Comparison, limit: number): boolean {
  switch (comparison) {
    case '>':
      return value > limit;
    case '>=':
      return value >= limit;
    case '<':
      return value < limit;
    case '<=':
      return value <= limit;
  }
}

function invalid(rule: string, why: string): LoadError {
  return new LoadError('INVALID_OPTION', `Invalid threshold ${JSON.stringify(rule)}: ${why}`);
}
