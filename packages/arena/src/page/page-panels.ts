/** The charts of one backend with a number of slots, each in a wide and a narrow version. */

import type { LineChartSpec, Series } from '../plot/line-chart.js';
import { readable } from '../plot/ticks.js';
import { beginningOf, type Timeline } from '../plot/timeline.js';
import { timelineChart } from '../plot/timeline-chart.js';
import { chartFigure } from './page-chart.js';
import { html, Markup } from './page-document.js';
import type { ShowcaseCell, Stretch, Sweep } from './showcase.js';

const WIDE_TIMELINE = 980;
const NARROW_TIMELINE = 400;
/** Share of the timeline that is shown on a narrow screen. */
const NARROW_SHARE = 0.4;

/** Height of a latency chart, as a multiple of the highest value of adaptive: unstable policies would flatten the rest. */
const HEADROOM = 3;

export function panel(cell: ShowcaseCell, contenders: readonly string[], curveIndex: number): Markup {
  const { title, about, slots, maxBatchSize, capacityPerSecond } = cell;
  const id = `backend-${curveIndex + 1}-slots-${slots}`;
  const plots = [meanPlot(cell), p99Plot(cell), goodputPlot(cell), servicePlot(cell)];
  return html`<section class="panel" id="${id}" data-curve="${curveIndex}" data-slots="${slots}">
<h3>${title}, ${slotsInWords(slots)}</h3>
<p class="quiet">${about} Batches of at most ${maxBatchSize}; ${readable(capacityPerSecond)} items per second at full load.</p>
<div class="grid">
${plots.map(({ spec, caption }, i) => chartFigure(spec, caption, `${id}-plot-${i + 1}`))}
</div>
${cell.stretches.map((stretch, i) => timelines(stretch, contenders, `${id}-time-${i + 1}`))}
</section>
`;
}

interface Plot {
  readonly spec: LineChartSpec;
  readonly caption: string;
}

function meanPlot({ meanMs, meanBoundMs }: ShowcaseCell): Plot {
  const bound = meanBoundMs === undefined ? [] : [reference(meanBoundMs)];
  return {
    spec: latencySpec('Mean latency against load', 'mean latency (ms)', meanMs, bound),
    caption: 'Poisson arrivals, no target. Lower is better; lines end at the top where they are far above.',
  };
}

function p99Plot({ p99Ms }: ShowcaseCell): Plot {
  return {
    spec: latencySpec('p99 latency against load', 'p99 latency (ms)', p99Ms, []),
    caption: 'The same runs: 99 of 100 responses are within this latency.',
  };
}

function goodputPlot({ goodput, targetLatencyMs }: ShowcaseCell): Plot {
  const loads = goodput[0]?.points.map(([load]) => load) ?? [];
  const best: Sweep = { name: 'upper bound', points: loads.map((load) => [load, Math.min(1, 1 / load)]) };
  return {
    spec: {
      title: 'Goodput against load',
      x: { label: 'load (share of the maximum throughput)', min: 0 },
      y: {
        label: `items served within ${readable(targetLatencyMs)} ms`,
        format: 'percent',
        min: 0,
        max: 1.1,
      },
      series: [...lines(goodput), reference(best)],
      xMarks: [{ at: 1, label: 'full load' }],
    },
    caption: `With a target of ${readable(targetLatencyMs)} ms, twice the duration of the largest batch. Higher is better.`,
  };
}

function servicePlot({ service }: ShowcaseCell): Plot {
  return {
    spec: {
      title: 'Service curve',
      x: { label: 'items in a batch', min: 0 },
      y: { label: 'duration of a batch (ms)', min: 0 },
      series: [{ name: 'duration of a batch', points: service, look: 'reference' }],
      names: 'none',
    },
    caption: 'The policies have to learn this curve.',
  };
}

function slotsInWords(slots: number): string {
  return slots === 1 ? '1 slot' : `${slots} slots`;
}

function latencySpec(
  title: string,
  label: string,
  sweeps: readonly Sweep[],
  bound: readonly Series[],
): LineChartSpec {
  const all = sweeps.flatMap(({ points }) => points.map((point) => point[1])).filter(Number.isFinite);
  const ours = (sweeps[0]?.points ?? []).map((point) => point[1]).filter(Number.isFinite);
  const most = roundedUp(HEADROOM * Math.max(...ours));
  return {
    title,
    x: { label: 'load (share of the maximum throughput)', min: 0, max: 1 },
    y: { label, scale: 'log', ...(Math.max(...all) > most && ours.length > 0 ? { max: most } : {}) },
    series: [...lines(sweeps), ...bound],
  };
}

/** Rounded up to 1, 2 or 5 times a power of ten. */
function roundedUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * (value <= power ? 1 : value <= 2 * power ? 2 : value <= 5 * power ? 5 : 10);
}

/** The first one is emphasized. */
function lines(sweeps: readonly Sweep[]): Series[] {
  return sweeps.map(({ name, points }, i) => ({ name, points, look: i, emphasized: i === 0 }));
}

function reference({ name, points }: Sweep): Series {
  return { name, points, look: 'reference', dashed: true };
}

/** Timelines below each other with the same scales. */
function timelines({ title, about, runs }: Stretch, contenders: readonly string[], id: string): Markup {
  const all = runs.map(({ timeline }) => timeline);
  const largestBatch = Math.max(1, ...all.flatMap(({ batches }) => batches.map(({ size }) => size)));
  const longestQueue = Math.max(1, ...all.flatMap(({ queue }) => queue.map(([, items]) => items)));
  const figures = runs.map(({ name, meanMs, timeline }, i) => {
    const look = Math.max(0, contenders.indexOf(name));
    const draw = (shown: Timeline, width: number, kind: string) =>
      new Markup(
        timelineChart({
          title: `${name}: ${readable(meanMs)} ms mean latency`,
          timeline: shown,
          largestBatch,
          longestQueue,
          look,
          width,
          id: `${id}-${i + 1}-${kind}`,
          styled: false,
        }),
      );
    const part = timeline.fromMs + NARROW_SHARE * (timeline.toMs - timeline.fromMs);
    return html`<figure class="card">
<div class="wide">${draw(timeline, WIDE_TIMELINE, 'wide')}</div>
<div class="narrow">${draw(beginningOf(timeline, part), NARROW_TIMELINE, 'narrow')}</div>
</figure>
`;
  });
  return html`<h4>${title}</h4>
<p class="quiet">${about} The same arrivals for each policy.</p>
<div class="timelines">${figures}</div>
`;
}
