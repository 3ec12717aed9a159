/** The plots of one backend with so many slots. Each is drawn twice, for wide and for narrow screens. */

import type { LineChartSpec, Series } from '../plot/line-chart.js';
import { readable } from '../plot/ticks.js';
import { beginningOf, type Timeline } from '../plot/timeline.js';
import { timelineChart } from '../plot/timeline-chart.js';
import { chartFigure } from './page-chart.js';
import { html, Markup } from './page-document.js';
import type { ShowcaseCell, Stretch, Sweep } from './showcase.js';

const WIDE_TIMELINE = 980;
const NARROW_TIMELINE = 400;
/** Of the stretch of time, on a narrow screen. */
const NARROW_SHARE = 0.4;

/** How far above the highest value of ours a latency plot goes: those who are unstable would flatten the rest. */
const HEADROOM = 3;

export function panel(cell: ShowcaseCell, contenders: readonly string[], curveIndex: number): Markup {
  const { title, about, slots, maxBatchSize, capacityPerSecond } = cell;
  const id = `backend-${curveIndex + 1}-slots-${slots}`;
  const plots = [meanPlot(cell), p99Plot(cell), goodputPlot(cell), servicePlot(cell)];
  return html`<section class="panel" id="${id}" data-curve="${curveIndex}" data-slots="${slots}">
<h3>${title}, ${slotsInWords(slots)}</h3>
<p class="quiet">${about} Batches of at most ${maxBatchSize}; ${readable(capacityPerSecond)} items a second at full load.</p>
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
    caption: 'Poisson arrivals, no target. Lower is better; lines that leave at the top are far above.',
  };
}

function p99Plot({ p99Ms }: ShowcaseCell): Plot {
  return {
    spec: latencySpec('The slowest hundredth against load', 'p99 latency (ms)', p99Ms, []),
    caption: 'The same runs: 99 of 100 items were answered within this time.',
  };
}

function goodputPlot({ goodput, targetMs }: ShowcaseCell): Plot {
  const loads = goodput[0]?.points.map(([load]) => load) ?? [];
  const best: Sweep = { name: 'all it can do', points: loads.map((load) => [load, Math.min(1, 1 / load)]) };
  return {
    spec: {
      title: 'Goodput against load',
      x: { label: 'load (share of what the backend can do)', min: 0 },
      y: { label: `items answered within ${readable(targetMs)} ms`, format: 'percent', min: 0, max: 1.1 },
      series: [...lines(goodput), reference(best)],
      xMarks: [{ at: 1, label: 'full load' }],
    },
    caption: `With a target of ${readable(targetMs)} ms, twice the time of the largest batch. Higher is better.`,
  };
}

function servicePlot({ service }: ShowcaseCell): Plot {
  return {
    spec: {
      title: 'The backend',
      x: { label: 'items in a batch', min: 0 },
      y: { label: 'time of a batch (ms)', min: 0 },
      series: [{ name: 'time of a batch', points: service, look: 'reference' }],
      names: 'none',
    },
    caption: 'What the policies are not told and have to learn.',
  };
}

function slotsInWords(slots: number): string {
  return slots === 1 ? 'one batch at a time' : `${slots} batches at a time`;
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
    x: { label: 'load (share of what the backend can do)', min: 0, max: 1 },
    y: { label, scale: 'log', ...(Math.max(...all) > most && ours.length > 0 ? { max: most } : {}) },
    series: [...lines(sweeps), ...bound],
  };
}

/** To 1, 2 or 5 times a power of ten. */
function roundedUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * (value <= power ? 1 : value <= 2 * power ? 2 : value <= 5 * power ? 5 : 10);
}

/** Ours is the first. */
function lines(sweeps: readonly Sweep[]): Series[] {
  return sweeps.map(({ name, points }, i) => ({ name, points, look: i, emphasized: i === 0 }));
}

function reference({ name, points }: Sweep): Series {
  return { name, points, look: 'reference', dashed: true };
}

/** One above the other, on the same scales: the same time stands at the same place. */
function timelines({ title, about, runs }: Stretch, contenders: readonly string[], id: string): Markup {
  const all = runs.map(({ timeline }) => timeline);
  const largestBatch = Math.max(1, ...all.flatMap(({ batches }) => batches.map(({ size }) => size)));
  const longestQueue = Math.max(1, ...all.flatMap(({ queue }) => queue.map(([, items]) => items)));
  const figures = runs.map(({ name, meanMs, timeline }, i) => {
    const look = Math.max(0, contenders.indexOf(name));
    const draw = (shown: Timeline, width: number, kind: string) =>
      new Markup(
        timelineChart({
          title: `${name}: ${readable(meanMs)} ms on average`,
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
<p class="quiet">${about} The same callers for each.</p>
<div class="timelines">${figures}</div>
`;
}
