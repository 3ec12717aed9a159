/**
 * Draws the pictures of README.md and guides/scheduling.md from simulations: `npm run build && node docs/plots.js`.
 * Virtual time and fixed seeds, so the same code draws the same pictures, to the byte.
 */
import { writeFileSync } from 'node:fs';
import {
  capacity,
  fanOut,
  goodputOptimum,
  lineChart,
  measure,
  peer,
  poisson,
  SHOWCASE_CURVES,
  simulate,
  timelineChart,
  timelineOf,
  twoSlotBound,
} from '@batchwise/arena';
import { adaptive } from 'batchwise';

/** Batches of up to 64 items that take 5 ms and 0.1 ms for each item. */
const curve = SHOWCASE_CURVES[0].curve;
const ours = { name: 'adaptive', policy: () => adaptive(), knowsTarget: true };
const share = { label: 'load: the share of what the backend can do at most', format: 'percent' };

async function run(
  contender,
  arrivals,
  { slots = 1, items = 30_000, targetLatencyMs = Infinity, backend = curve } = {},
) {
  const world = {
    name: 'plot',
    curve: backend,
    slots,
    arrivals,
    items,
    targetLatencyMs,
    noise: 0,
    timerMs: 1,
    seed: 1,
  };
  return simulate(world, contender);
}

/** One line for each contender: what `figure` makes of a run, against load. */
async function sweep(contenders, loads, options, figure) {
  const perMs = (options.slots ?? 1) * capacity(curve).perMs;
  const series = [];
  for (const contender of contenders) {
    const points = [];
    for (const load of loads) {
      const result = await run(contender, poisson(load * perMs), options);
      // The first tenth is cold: an empty queue, and nothing learned.
      points.push([load, figure(measure(result, result.latencyMs.length / 10))]);
    }
    series.push({ name: contender.name, points, emphasized: contender === ours });
  }
  return series;
}

async function latencyPlot() {
  const loads = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95];
  const contenders = [ours, peer('greedy'), peer('triton-10')];
  const series = await sweep(contenders, loads, { slots: 2 }, ({ meanMs }) => meanMs);
  const bounds = loads.flatMap((load) => {
    const bound = twoSlotBound(curve, load);
    return bound === undefined ? [] : [[load, bound.meanMs]];
  });
  return lineChart({
    title: 'Mean latency against load, two slots',
    x: { ...share, min: 0, max: 1 },
    y: { label: 'mean latency in milliseconds', min: 0 },
    series: [...series, { name: 'best possible', points: bounds, dashed: true, look: 'reference' }],
  });
}

async function goodputPlot() {
  const loads = [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1, 1.05, 1.1, 1.15, 1.2, 1.3];
  const targetLatencyMs = 2 * curve.durationMs(curve.maxBatchSize);
  const contenders = [ours, peer('greedy'), peer('bentoml'), peer('nexus')];
  const series = await sweep(contenders, loads, { targetLatencyMs }, ({ goodput }) => goodput);
  const bounds = [];
  for (const load of loads) {
    // The same arrivals as the others got.
    const { arrivedAt } = await run(ours, poisson(load * capacity(curve).perMs), { targetLatencyMs });
    bounds.push([load, goodputOptimum(arrivedAt, curve, targetLatencyMs).goodput]);
  }
  return lineChart({
    title: `Answered within ${targetLatencyMs} ms against load, one slot`,
    x: { ...share, min: 0.5, max: 1.3 },
    y: { label: 'share of all items', min: 0, max: 1, format: 'percent' },
    series: [...series, { name: 'best possible', points: bounds, dashed: true, look: 'reference' }],
    names: 'legend',
  });
}

/** The same bursts, served by two policies; a stretch after both have learned, from a quiet moment on. */
async function burstPlots() {
  const arrivals = fanOut(0.15 * capacity(curve).perMs);
  const runs = [];
  for (const contender of [peer('greedy'), ours]) {
    runs.push({ name: contender.name, result: await run(contender, arrivals) });
  }
  const { arrivedAt } = runs[0].result;
  const isQuietBefore = (at, i) => at - arrivedAt[i - 1] > 30 && arrivedAt[i + 16 * 4] - at < 100;
  const first = arrivedAt.findIndex((at, i) => i > 20_000 && isQuietBefore(at, i));
  const fromMs = arrivedAt[first] - 3;
  return runs.map(({ name, result }, i) =>
    timelineChart({
      title: name,
      subtitle: `requests that fan out into 16 calls; mean latency ${measure(result, 3_000).meanMs.toFixed(1)} ms`,
      timeline: timelineOf(result, fromMs, fromMs + 100),
      largestBatch: 32,
      longestQueue: 32,
      look: i === 0 ? 1 : 0,
    }),
  );
}

/** One burst of 16 calls, with one call of the backend per item and with Batchwise: the picture of the README. */
async function burstPlot() {
  const arrivals = fanOut(0.02);
  const panels = [
    { title: 'One call per item', backend: { ...curve, maxBatchSize: 1 }, look: 1 },
    { title: 'Batchwise', backend: curve, look: 0 },
  ];
  const runs = [];
  for (const { backend } of panels) runs.push(await run(ours, arrivals, { items: 8_000, backend }));
  const { arrivedAt } = runs[0];
  // A burst after both have learned, with no other burst near it.
  const first = arrivedAt.findIndex(
    (at, i) =>
      i > 5_000 && at - arrivedAt[i - 1] > 100 && arrivedAt[i + 15] - at < 1 && arrivedAt[i + 16] - at > 100,
  );
  const fromMs = arrivedAt[first];
  return stacked(
    'A burst of 16 calls: one call per item, and Batchwise',
    panels.map(({ title, look }, i) => {
      const latencies = [...runs[i].latencyMs.subarray(first, first + 16)];
      const meanMs = latencies.reduce((sum, ms) => sum + ms, 0) / 16;
      return timelineChart({
        title,
        subtitle: `16 calls at once; mean latency ${meanMs.toFixed(0)} ms, last answer after ${Math.max(...latencies).toFixed(0)} ms`,
        timeline: timelineOf(runs[i], fromMs, fromMs + 90),
        largestBatch: 16,
        longestQueue: 16,
        look,
      });
    }),
  );
}

/** Several charts of the same width as one picture, one below the other. */
function stacked(title, charts) {
  const heights = charts.map((chart) => Number(/ height="(\d+)"/.exec(chart)[1]));
  const placed = charts.map((chart, i) => {
    const y = heights.slice(0, i).reduce((sum, height) => sum + height, 0);
    return chart.replace('<svg ', `<svg y="${y}" `);
  });
  const height = heights.reduce((sum, each) => sum + each, 0);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 ${height}" width="720" height="${height}"><title>${title}</title>${placed.join('')}</svg>\n`;
}

function save(name, svg) {
  writeFileSync(new URL(`${name}.svg`, import.meta.url), svg);
  console.log(`docs/${name}.svg`);
}

save('guides/scheduling-latency', await latencyPlot());
save('guides/scheduling-goodput', await goodputPlot());
const [greedyBursts, adaptiveBursts] = await burstPlots();
save('guides/scheduling-bursts-greedy', greedyBursts);
save('guides/scheduling-bursts-adaptive', adaptiveBursts);
save('burst', await burstPlot());
