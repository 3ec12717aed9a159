/**
 * A part of a run over time, as SVG: arrivals, batches by slot, holds (a slot is free while items wait), and the queue
 * length.
 */
import type { Box } from './clipped-line.js';
import { heading, line, PADDING, path, plotDocument, SMALL, text, X_AXIS_HEIGHT, xAxis } from './frame.js';
import { type Look, seriesColour, tone } from './look.js';
import { coordinate, element, escaped } from './markup.js';
import { type Scale, scaleFor } from './scale.js';
import { textWidth } from './text-width.js';
import { readable } from './ticks.js';
import type { Timeline, TimelineBatch } from './timeline.js';
import { hatchOfHolds, holdFill, timelineKey } from './timeline-key.js';

export interface TimelineChartSpec {
  readonly title: string;
  /** Below the title. */
  readonly subtitle?: string;
  /** Text alternative for screen readers. @default generated from the run */
  readonly description?: string;
  readonly timeline: Timeline;
  /** The batch size at full height, the same for charts to compare. @default the largest batch */
  readonly largestBatch?: number;
  /** The queue length at full height. @default the longest queue */
  readonly longestQueue?: number;
  /** Colour of the batches, as `look` of a series. @default 0 */
  readonly look?: Look;
  /** @default 720 */
  readonly width?: number;
  /** Prefix of ids. @default a hash of the content */
  readonly id?: string;
  /** Whether the style is included. @default true */
  readonly styled?: boolean;
}

const ARRIVALS_HEIGHT = 14;
const SLOT_HEIGHT = 44;
const QUEUE_HEIGHT = 46;
const LANE_GAP = 10;

export function timelineChart(spec: TimelineChartSpec): string {
  const { title, timeline, width = 720, look = 0, styled = true } = spec;
  const head = heading(title, spec.subtitle ?? '', width);
  const key = (id: string) => timelineKey(id, look, head.bottom + 8, width);
  const names = ['arrivals', ...slotNames(timeline.slots), 'waiting'];
  const left = PADDING + Math.max(...names.map((name) => textWidth(name, SMALL))) + 10;
  const right = width - PADDING - 4;
  const top = key('').bottom + 12;
  const slotsTop = top + ARRIVALS_HEIGHT + LANE_GAP;
  const queueTop = slotsTop + timeline.slots * (SLOT_HEIGHT + LANE_GAP);
  const bottom = queueTop + QUEUE_HEIGHT + 6;
  const box: Box = { left, right, top, bottom };
  const x = scaleFor({ label: '', min: 0, max: timeline.toMs - timeline.fromMs }, [], left, right, {
    rounded: false,
    pixelsPerTick: 64,
  });
  const place = (atMs: number) => Math.min(Math.max(x.toPixel(atMs - timeline.fromMs), left), right);
  return plotDocument(
    {
      title,
      description: spec.description ?? describe(timeline),
      width,
      height: bottom + X_AXIS_HEIGHT,
      id: spec.id,
      styled,
    },
    (id) => [
      hatchOfHolds(id),
      head.markup,
      key(id).markup,
      grid(x, box),
      xAxis(x, box, 'time (ms)', width),
      laneNames(names, left, [
        top + ARRIVALS_HEIGHT,
        ...slotNames(timeline.slots).map(
          (_, slot) => slotsTop + slot * (SLOT_HEIGHT + LANE_GAP) + SLOT_HEIGHT,
        ),
        queueTop + QUEUE_HEIGHT,
      ]),
      arrivals(timeline, place, top),
      ...slotNames(timeline.slots).map((_, slot) => {
        const foot = slotsTop + slot * (SLOT_HEIGHT + LANE_GAP) + SLOT_HEIGHT;
        return lane(spec, slot, foot, place, box, id);
      }),
      queue(spec, place, queueTop + QUEUE_HEIGHT, box),
    ],
  );
}

function slotNames(slots: number): string[] {
  return slots === 1 ? ['batches'] : Array.from({ length: slots }, (_, slot) => `slot ${slot + 1}`);
}

function laneNames(names: readonly string[], left: number, feet: readonly number[]): string {
  return element(
    'g',
    { ...tone('soft'), 'text-anchor': 'end' },
    names.map((name, i) => text(name, left - 8, (feet[i] as number) - 1)),
  );
}

function grid(x: Scale, box: Box): string {
  const lines = x.ticks.map(({ at }) => {
    const pixel = x.toPixel(at);
    return path([
      [pixel, box.top],
      [pixel, box.bottom],
    ]);
  });
  return element(
    'g',
    tone('grid'),
    element('path', { d: lines.join(''), stroke: 'currentColor', fill: 'none' }),
  );
}

function arrivals({ answeredAt, refusedAt }: Timeline, place: (atMs: number) => number, top: number): string {
  // Arrivals within half a pixel are one tick.
  const at = [...new Set(answeredAt.map((atMs) => Math.round(place(atMs) * 2) / 2))];
  const ticks = at.map((x) => `M${coordinate(x)} ${coordinate(top)}v${ARRIVALS_HEIGHT}`).join('');
  const crosses = refusedAt
    .map((atMs) => `M${coordinate(place(atMs) - 3)} ${coordinate(top + 4)}l6 6m0-6l-6 6`)
    .join('');
  const answered = element('path', { d: ticks, stroke: 'currentColor', fill: 'none', opacity: '0.75' });
  const refused = element('path', { d: crosses, stroke: 'currentColor', 'stroke-width': 1.6, fill: 'none' });
  return (
    element('g', tone('ink'), [ticks === '' ? '' : answered]) +
    (crosses === '' ? '' : element('g', tone('ink'), [element('title', {}, 'rejected'), refused]))
  );
}

function lane(
  { timeline, largestBatch, look = 0 }: TimelineChartSpec,
  slot: number,
  foot: number,
  place: (atMs: number) => number,
  box: Box,
  id: string,
): string {
  const largest = largestBatch ?? Math.max(1, ...timeline.batches.map(({ size }) => size));
  const batches = timeline.batches.filter((batch) => batch.slot === slot);
  const holds = timeline.holds.filter((hold) => hold.slot === slot);
  return [
    element('g', tone('grid'), line(box.left, foot, box.right, foot)),
    ...holds.map(({ fromMs, toMs }) => {
      const [from, to] = [place(fromMs), place(toMs)];
      const bar = { x: from, y: foot - SLOT_HEIGHT, width: Math.max(0.5, to - from), height: SLOT_HEIGHT };
      const tooltip = element('title', {}, `held for ${readable(toMs - fromMs)} ms`);
      return element('rect', { ...bar, fill: holdFill(id), opacity: '0.75' }, tooltip);
    }),
    ...batches.map((batch) => bar(batch, look, foot, Math.min(1, batch.size / largest), place)),
  ].join('');
}

function bar(
  batch: TimelineBatch,
  look: Look,
  foot: number,
  share: number,
  place: (atMs: number) => number,
): string {
  const { fromMs, toMs, size, reason } = batch;
  const [from, to] = [place(fromMs), place(toMs)];
  const height = Math.max(3, share * SLOT_HEIGHT);
  // A gap between neighbours: batches often follow each other immediately.
  const width = Math.max(0.8, to - from - 1);
  const tooltip = `${size} ${size === 1 ? 'item' : 'items'} in ${readable(toMs - fromMs)} ms (${reason})`;
  const label = String(size);
  const fits = textWidth(label, 11) + 2 <= width;
  const inside = height >= 15;
  const middle = from + width / 2;
  const labelled = fits
    ? element(
        'g',
        tone(inside ? 'paper' : 'ink'),
        text(label, middle, inside ? foot - height + 12 : foot - height - 3, {
          'text-anchor': 'middle',
          'font-size': 11,
          'font-weight': 600,
        }),
      )
    : '';
  return element('g', {}, [
    element('title', {}, escaped(tooltip)),
    element(
      'g',
      seriesColour(look),
      element('rect', {
        x: from,
        y: foot - height,
        width,
        height,
        rx: Math.min(2, width / 2),
        fill: 'currentColor',
      }),
    ),
    labelled,
  ]);
}

function queue(
  { timeline, longestQueue }: TimelineChartSpec,
  place: (atMs: number) => number,
  foot: number,
  box: Box,
): string {
  const longest = Math.max(1, longestQueue ?? Math.max(...timeline.queue.map(([, items]) => items), 1));
  const height = (items: number) => foot - Math.min(1, items / longest) * QUEUE_HEIGHT;
  let d = `M${coordinate(box.left)} ${coordinate(foot)}`;
  let drawnAt = Number.NEGATIVE_INFINITY;
  timeline.queue.forEach(([atMs, items], i) => {
    const before = timeline.queue[i - 1]?.[1] ?? 0;
    const next = timeline.queue[i + 1];
    // A step is omitted only if the next one is at the same pixel and in the same direction, so that every peak, every
    // low and every lasting state is drawn.
    if (next !== undefined && place(next[0]) - drawnAt < 0.7 && (items - before) * (next[1] - items) > 0)
      return;
    drawnAt = place(atMs);
    d += `H${coordinate(drawnAt)}V${coordinate(height(items))}`;
  });
  d += `H${coordinate(box.right)}`;
  return [
    element('g', tone('grid'), line(box.left, foot, box.right, foot)),
    element('g', tone('soft'), [
      element('path', { d: `${d}V${coordinate(foot)}Z`, fill: 'currentColor', opacity: '0.18' }),
      element('path', { d, fill: 'none', stroke: 'currentColor', 'stroke-width': 1.2 }),
      text(readable(longest), box.left - 8, foot - QUEUE_HEIGHT + 12, {
        'text-anchor': 'end',
        'font-size': 10,
      }),
    ]),
  ].join('');
}

function describe({ fromMs, toMs, answeredAt, refusedAt, batches, holds, queue }: Timeline): string {
  const sizes = batches.map(({ size }) => size);
  const held = holds.reduce((sum, hold) => sum + hold.toMs - hold.fromMs, 0);
  const parts = [
    `${readable(toMs - fromMs)} ms of one run.`,
    `${answeredAt.length + refusedAt.length} items arrived, ${refusedAt.length} rejected.`,
    sizes.length === 0 ? 'No batch ran.' : `${sizes.length} batches of ${span(sizes)} items ran.`,
    `A slot was free while items were held for ${readable(held)} ms.`,
    `The longest queue was ${Math.max(0, ...queue.map(([, items]) => items))} items.`,
  ];
  return parts.join(' ');
}

function span(sizes: readonly number[]): string {
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  return least === most ? String(least) : `${least} to ${most}`;
}
