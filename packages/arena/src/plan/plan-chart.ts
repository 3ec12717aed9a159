/** The picture of a plan: latency against load, with the knee and the target. */

import { type LineChartSpec, lineChart } from '../plot/line-chart.js';
import type { Plan } from './plan.js';
import { writtenRate, writtenSlots, writtenTarget } from './plan-notation.js';
import type { LoadResult } from './plan-trial.js';

/** How high the picture goes, in targets: room for the labels above it, and for those who come late. */
const LOWEST = 1.3;
const HIGHEST = 2;

/** Undefined when there is nothing to draw: no rate holds the target. */
export function planChart(plan: Plan): string | undefined {
  const spec = chartOf(plan);
  return spec === undefined ? undefined : lineChart(spec);
}

/** What is drawn, as plain data. */
export function chartOf({ asked, settings, largest, loads }: Plan): LineChartSpec | undefined {
  if (largest === undefined || settings === undefined) return undefined;
  const { curve, targetMs, perSecond } = asked;
  const { concurrency, maxBatchSize } = settings;
  const last = loads.at(-1)?.perSecond ?? largest.perSecond;
  return {
    title: `Latency against load: ${curve}, ${writtenSlots(concurrency)}, batches of up to ${maxBatchSize}`,
    x: { label: 'requests a second', min: 0, max: Math.max(last, Math.min(perSecond, 2 * last)) },
    y: {
      label: 'latency of those that are answered, in milliseconds',
      min: 0,
      max: heightOf(loads, targetMs),
    },
    series: [
      { name: 'mean', points: loads.map((load) => [load.perSecond, load.meanMs]), emphasized: true },
      { name: 'p99', points: loads.map((load) => [load.perSecond, load.p99Ms]) },
    ],
    yMarks: [{ at: targetMs, label: `target: ${writtenTarget(targetMs)}` }],
    xMarks: [
      { at: perSecond, label: `yours: ${writtenRate(perSecond)}` },
      { at: largest.perSecond, label: `knee: ${writtenRate(largest.perSecond)} hold the target` },
    ],
  };
}

function heightOf(loads: readonly LoadResult[], targetMs: number): number {
  const slowest = Math.max(...loads.map(({ p99Ms }) => p99Ms).filter(Number.isFinite));
  return Math.min(HIGHEST * targetMs, Math.max(LOWEST * targetMs, 1.05 * slowest));
}
