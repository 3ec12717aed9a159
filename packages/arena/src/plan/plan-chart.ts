/** The chart of a plan: latency against load, with the knee and the target. */

import { type LineChartSpec, lineChart } from '../plot/line-chart.js';
import type { Plan } from './plan.js';
import { formatRate, formatSlots, formatTarget } from './plan-notation.js';
import type { LoadResult } from './plan-trial.js';

/** Limits of the y axis, as multiples of the target. */
const MIN_HEIGHT = 1.3;
const MAX_HEIGHT = 2;

/** Undefined when no rate holds the target. */
export function planChart(plan: Plan): string | undefined {
  const spec = chartOf(plan);
  return spec === undefined ? undefined : lineChart(spec);
}

export function chartOf({ input, settings, largest, loads }: Plan): LineChartSpec | undefined {
  if (largest === undefined || settings === undefined) return undefined;
  const { curve, targetLatencyMs, perSecond } = input;
  const { concurrency, maxBatchSize } = settings;
  const last = loads.at(-1)?.perSecond ?? largest.perSecond;
  return {
    title: `Latency against load: ${curve}, ${formatSlots(concurrency)}, batches of up to ${maxBatchSize}`,
    x: { label: 'requests per second', min: 0, max: Math.max(last, Math.min(perSecond, 2 * last)) },
    y: {
      label: 'latency of responses, in milliseconds',
      min: 0,
      max: heightOf(loads, targetLatencyMs),
    },
    series: [
      { name: 'mean', points: loads.map((load) => [load.perSecond, load.meanMs]), emphasized: true },
      { name: 'p99', points: loads.map((load) => [load.perSecond, load.p99Ms]) },
    ],
    yMarks: [{ at: targetLatencyMs, label: `target: ${formatTarget(targetLatencyMs)}` }],
    xMarks: [
      { at: perSecond, label: `yours: ${formatRate(perSecond)}` },
      { at: largest.perSecond, label: `knee: ${formatRate(largest.perSecond)} hold the target` },
    ],
  };
}

function heightOf(loads: readonly LoadResult[], targetLatencyMs: number): number {
  const slowest = Math.max(...loads.map(({ p99Ms }) => p99Ms).filter(Number.isFinite));
  return Math.min(MAX_HEIGHT * targetLatencyMs, Math.max(MIN_HEIGHT * targetLatencyMs, 1.05 * slowest));
}
