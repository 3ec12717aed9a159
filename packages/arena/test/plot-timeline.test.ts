import { greedy, window } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { beginningOf, type Timeline, timelineOf } from '../src/plot/timeline.js';
import { timelineChart } from '../src/plot/timeline-chart.js';
import { fanOut, poisson } from '../src/simulation/arrivals.js';
import { formulaCurve } from '../src/simulation/curve.js';
import type { Scenario } from '../src/simulation/scenario.js';
import { type BatchRun, type Run, simulate } from '../src/simulation/simulate.js';
import { named, parsePlot, textOf, texts } from './support/well-formed.js';

const scenario: Scenario = {
  name: 'drawn',
  curve: formulaCurve('5 + 0.1b', 64, (b) => 5 + 0.1 * b),
  slots: 2,
  arrivals: poisson(4),
  items: 2000,
  targetLatencyMs: Number.POSITIVE_INFINITY,
  noise: 0.1,
  timerMs: 1,
  seed: 5,
};

/** A run with the given items (NaN for a rejected one) and batches. */
function runOf(
  slots: number,
  items: [at: number, latencyMs: number][],
  batches: [at: number, ms: number, size: number][],
): Run {
  return {
    contender: 'by hand',
    scenario: { ...scenario, slots },
    arrivedAt: Float64Array.from(items, ([at]) => at),
    latencyMs: Float64Array.from(items, ([, latencyMs]) => latencyMs),
    refused: 0,
    refusedInQueue: 0,
    batches: batches.map(
      ([startedAt, durationMs, size]): BatchRun => ({
        startedAt,
        durationMs,
        size,
        reason: 'idle',
        itemsBefore: 0,
        first: 0,
      }),
    ),
    retried: 0,
    retriedOnTime: 0,
  };
}

describe('a part of a run', () => {
  test('shows the queue and the holds', () => {
    const run = runOf(
      1,
      [
        [0, 6],
        [1, 5],
        [3, 12],
        [7, Number.NaN],
        [9, 6],
      ],
      [
        [2, 4, 2],
        [10, 5, 2],
      ],
    );
    expect(timelineOf(run, 0, 12)).toEqual({
      fromMs: 0,
      toMs: 12,
      slots: 1,
      answeredAt: [0, 1, 3, 9],
      refusedAt: [7],
      batches: [
        { slot: 0, fromMs: 2, toMs: 6, size: 2, reason: 'idle' },
        { slot: 0, fromMs: 10, toMs: 15, size: 2, reason: 'idle' },
      ],
      holds: [
        { slot: 0, fromMs: 0, toMs: 2 },
        { slot: 0, fromMs: 6, toMs: 10 },
      ],
      queue: [
        [0, 1],
        [1, 2],
        [2, 0],
        [3, 1],
        [9, 2],
        [10, 0],
      ],
    });
  });

  test('that begins in the middle includes what is queued and running', () => {
    const run = runOf(
      1,
      [
        [0, 6],
        [1, 5],
        [3, 12],
        [9, 6],
      ],
      [
        [2, 4, 2],
        [10, 5, 2],
      ],
    );
    const { queue, holds, batches, answeredAt } = timelineOf(run, 4, 8);
    expect(queue).toEqual([[4, 1]]);
    expect(holds).toEqual([{ slot: 0, fromMs: 6, toMs: 8 }]);
    expect(batches.map(({ size }) => size)).toEqual([2]);
    expect(answeredAt).toEqual([]);
  });

  test('puts each batch into the first free slot', () => {
    const run = runOf(
      2,
      [],
      [
        [0, 10, 1],
        [1, 3, 1],
        [4, 2, 1],
        [8, 9, 1],
        [10, 1, 1],
      ],
    );
    expect(timelineOf(run, 0, 20).batches.map(({ slot }) => slot)).toEqual([0, 1, 1, 1, 0]);
  });

  test('is the same in its beginning', () => {
    const run = runOf(
      1,
      [
        [0, 6],
        [1, 5],
        [3, 12],
        [9, 6],
      ],
      [
        [2, 4, 2],
        [10, 5, 2],
      ],
    );
    const { batches, ...part } = beginningOf(timelineOf(run, 0, 12), 7);
    const { batches: expected, ...whole } = timelineOf(run, 0, 7);
    expect(part).toEqual(whole);
    expect(batches).toEqual(expected);
  });
});

describe('in a simulated run', () => {
  test('a policy that never waits has no holds', async () => {
    const run = await simulate(scenario, { name: 'greedy', policy: () => greedy(), knowsTarget: false });
    expect(timelineOf(run, 0, 400).holds).toEqual([]);
  });

  test('a window has holds of its length, and slots never overlap', async () => {
    const bursts = { ...scenario, arrivals: fanOut(1) };
    const run = await simulate(bursts, {
      name: 'window',
      policy: () => window({ maxWaitMs: 3 }),
      knowsTarget: false,
    });
    const { holds, batches, queue } = timelineOf(run, 100, 600);
    expect(holds.length).toBeGreaterThan(3);
    for (const { fromMs, toMs } of holds) expect(toMs - fromMs).toBeLessThanOrEqual(4);
    for (const slot of [0, 1]) {
      const own = batches.filter((batch) => batch.slot === slot);
      own.slice(1).forEach((batch, i) => {
        expect(batch.fromMs).toBeGreaterThanOrEqual((own[i] as { toMs: number }).toMs);
      });
    }
    for (const [, items] of queue) expect(items).toBeGreaterThanOrEqual(0);
  });
});

describe('a timeline chart', () => {
  const timeline = timelineOf(
    runOf(
      2,
      [
        [0, 6],
        [1, 5],
        [7, Number.NaN],
      ],
      [
        [2, 4, 2],
        [3, 9, 30],
      ],
    ),
    0,
    12,
  );

  test('shows size and dispatch reason of each batch', () => {
    const root = parsePlot(timelineChart({ title: 'Two batches', timeline }));
    expect(texts(root)).toEqual(
      expect.arrayContaining([
        'Two batches',
        '2',
        '30',
        'arrivals',
        'slot 1',
        'slot 2',
        'waiting',
        'time (ms)',
      ]),
    );
    expect(named(root, 'title').map(textOf)).toEqual(
      expect.arrayContaining([
        '2 items in 4 ms (idle)',
        '30 items in 9 ms (idle)',
        'held for 2 ms',
        'rejected',
      ]),
    );
  });

  test('describes the run for screen readers', () => {
    const root = parsePlot(timelineChart({ title: 'Two batches', timeline }));
    expect(named(root, 'desc').map(textOf)).toEqual([
      '12 ms of one run. 3 items arrived, 1 rejected. 2 batches of 2 to 30 items ran. A slot was free while items were held for 2 ms. The longest queue was 2 items.',
    ]);
  });

  test('escapes any text', () => {
    const nasty = '<b>&"';
    const batches = timeline.batches.map((batch) => ({ ...batch, reason: nasty }));
    const root = parsePlot(
      timelineChart({
        title: nasty,
        subtitle: nasty,
        description: nasty,
        timeline: { ...timeline, batches },
      }),
    );
    expect(named(root, 'b')).toEqual([]);
  });

  test('two charts in one page have their own patterns', () => {
    const ids = (svg: string) => [...svg.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    const [one, two] = [timelineChart({ title: 'one', timeline }), timelineChart({ title: 'two', timeline })];
    expect(new Set([...ids(one), ...ids(two)]).size).toBe(6);
  });

  // A fall of the queue less than a pixel after a rise was omitted: the queue looked full until the next item.
  test('shows the queue as empty from the dispatch of its batch on', () => {
    const burst = Array.from({ length: 16 }, (_, i) => [10 + 0.01 * i, i + 1] as const);
    const queue = [...burst, [10.2, 0], [90, 1], [90.1, 0]] as const;
    const shownAt = drawnQueue({ ...timeline, fromMs: 0, toMs: 100, queue });
    expect(shownAt(10.2, 0.3)).toContain(16);
    expect([9, 12, 89, 99].map((atMs) => shownAt(atMs))).toEqual([[0], [0], [0], [0]]);
  });

  test('shows every state of the queue that lasts a pixel, every peak and every low, at its time', () => {
    const step = fc.tuple(
      fc.oneof(fc.constant(0.01), fc.double({ min: 0.01, max: 9, noNaN: true })),
      fc.nat(20),
    );
    const property = fc.property(fc.array(step, { minLength: 1, maxLength: 100 }), (steps) => {
      let atMs = 0;
      const queue = steps.map(([gapMs, items]) => {
        atMs += gapMs;
        return [atMs, items] as const;
      });
      const shownAt = drawnQueue({ ...timeline, fromMs: 0, toMs: 1000, queue });
      queue.forEach(([fromMs, items], i) => {
        const before = queue[i - 1]?.[1] ?? 0;
        const [toMs, after] = queue[i + 1] ?? [1000, items];
        if (toMs - fromMs > 4) expect(shownAt((fromMs + toMs) / 2)).toEqual([items]);
        if ((items - before) * (after - items) < 0) expect(shownAt(fromMs, 2)).toContain(items);
      });
    });
    fc.assert(property, { numRuns: 300 });
  });

  test('is well-formed for any part of a run', () => {
    const at = fc.double({ min: 0, max: 1e6, noNaN: true });
    const span = fc.record({ slot: fc.integer({ min: 0, max: 3 }), fromMs: at, toMs: at });
    const anyTimeline: fc.Arbitrary<Timeline> = fc.record({
      fromMs: at,
      toMs: at,
      slots: fc.integer({ min: 1, max: 4 }),
      answeredAt: fc.array(at),
      refusedAt: fc.array(at),
      batches: fc.array(
        span.chain((one) => fc.record({ ...constants(one), size: fc.nat(), reason: fc.string() })),
      ),
      holds: fc.array(span),
      queue: fc.array(fc.tuple(at, fc.nat())),
    });
    const drawn = fc.property(anyTimeline, fc.integer({ min: 240, max: 1200 }), (one, width) => {
      parsePlot(timelineChart({ title: '', timeline: one, width }));
    });
    fc.assert(drawn, { numRuns: 200 });
  });
});

function constants(span: { slot: number; fromMs: number; toMs: number }) {
  return { slot: fc.constant(span.slot), fromMs: fc.constant(span.fromMs), toMs: fc.constant(span.toMs) };
}

/** The queue lengths drawn at a time, or up to `withinMs` from it. */
function drawnQueue(timeline: Timeline): (atMs: number, withinMs?: number) => number[] {
  const longest = 20;
  const svg = timelineChart({ title: '', timeline, longestQueue: longest });
  const line = named(parsePlot(svg), 'path').at(-1)?.attributes.d ?? '';
  const [left = 0, foot = 0] = line.slice(1).split(/[ H]/, 2).map(Number);
  const right = Number(line.split('H').at(-1));
  const steps = [...line.matchAll(/H([\d.]+)V([\d.]+)/g)].map(([, x, y]) => ({
    atMs: ((Number(x) - left) / (right - left)) * (timeline.toMs - timeline.fromMs),
    items: Math.round(((foot - Number(y)) / 46) * longest),
  }));
  return (atMs, withinMs = 0) => {
    const last = steps.findLast((step) => step.atMs <= atMs - withinMs);
    const near = steps.filter((step) => Math.abs(step.atMs - atMs) <= withinMs);
    return [...new Set([last, ...near].map((step) => step?.items ?? 0))];
  };
}
