/** Two simulated targets under the same arrivals, on virtual time. */
import { describe, expect, test } from 'vitest';
import type { RunSpec } from '../src/run/load-run.js';
import { type CompareProgress, compare, worstOfEach } from '../src/search/compare.js';
import { compareChart } from '../src/search/compare-chart.js';
import { compareJson } from '../src/search/compare-json.js';
import { compareText } from '../src/search/compare-text.js';
import { queue } from './support/queues.js';
import { type Server, SimulatedRuns, SteppingClock } from './support/simulated-runs.js';

const [A, B] = [{ url: 'http://127.0.0.1:1/a' }, { url: 'http://127.0.0.1:1/b' }];
const ARRIVALS = { kind: 'poisson', perSecond: 150 } as const;

const exponential = (meanMs: number) => queue((random) => -Math.log(1 - random()) * meanMs);
const byTarget = (a: Server, b: Server): Server => {
  return (arrivals, random, spec) => (urlOf(spec) === A.url ? a : b)(arrivals, random, spec);
};
const urlOf = ({ work }: RunSpec) => (work.kind === 'target' ? work.target.url : work.file);

function simulated(server: Server, seed = 1): SimulatedRuns {
  return new SimulatedRuns(new SteppingClock(), server, 1000 * seed, { endsAtOnce: true });
}

describe('a comparison', () => {
  test('plays the same arrivals on both targets, in an order that is drawn, after a warm-up', async () => {
    const runs = simulated(exponential(2));
    const told: CompareProgress[] = [];
    const { startRun } = runs;
    const comparison = await compare({
      startRun,
      a: A,
      b: B,
      arrivals: ARRIVALS,
      pairs: 8,
      secondsPerBlock: 2,
      targetLatencyMs: 20,
      onProgress: (progress) => told.push(progress),
    });
    expect(runs.specs).toHaveLength(18);
    const orders = new Set<string>();
    for (let i = 0; i < 18; i += 2) {
      const [first, second] = runs.specs.slice(i, i + 2) as [RunSpec, RunSpec];
      expect([urlOf(first), urlOf(second)].sort()).toEqual([A.url, B.url]);
      expect({ ...second, work: first.work }).toEqual(first);
      orders.add(urlOf(first));
    }
    expect(orders.size).toBe(2);
    expect(new Set(runs.specs.map(({ seed }) => seed)).size).toBe(9);
    expect(runs.inFlightAtStart).toBe(0);
    expect(told.map(({ pair }) => pair)).toEqual(runs.specs.map((_, i) => Math.floor(i / 2)));
    expect(comparison.pairs).toBe(8);
  });

  test('of a target with itself reports no difference in 95 % of comparisons', async () => {
    let positives = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const { startRun } = simulated(exponential(3), seed);
      const options = {
        startRun,
        a: A,
        b: A,
        arrivals: ARRIVALS,
        pairs: 8,
        secondsPerBlock: 2,
        targetLatencyMs: 20,
        seed,
      };
      if ((await compare(options)).differs) positives++;
    }
    // 3 are expected.
    expect(positives).toBeLessThanOrEqual(9);
  });

  test('finds a server that takes 10 % longer', async () => {
    for (let seed = 1; seed <= 10; seed++) {
      const { startRun } = simulated(byTarget(exponential(3), exponential(3.3)), seed);
      const options = {
        startRun,
        a: A,
        b: B,
        arrivals: ARRIVALS,
        pairs: 12,
        secondsPerBlock: 8,
        targetLatencyMs: 20,
        seed,
      };
      const { metrics, differs } = await compare(options);
      expect(differs).toBe(true);
      expect(metrics.find(({ name }) => name === 'mean_ms')).toMatchObject({ differs: true });
      expect(metrics.find(({ name }) => name === 'mean_ms')?.mean).toBeGreaterThan(0);
    }
  });

  test('tells failures, and leaves latencies out where a block has none', async () => {
    const failing: Server = (arrivals) => arrivals.map((at) => ({ endedAt: at + 1, kind: 'failed' }));
    const { startRun } = simulated(byTarget(exponential(1), failing));
    const comparison = await compare({
      startRun,
      a: A,
      b: B,
      arrivals: ARRIVALS,
      pairs: 6,
      secondsPerBlock: 1,
    });
    expect(comparison.metrics).toMatchObject([{ name: 'failed_share', a: 0, b: 1, mean: 1, differs: true }]);
    expect(compareText(comparison)).toContain('B differs from A: failed +100 pp.');
  });

  test('that is stopped compares the pairs that are complete', async () => {
    const stop = new AbortController();
    const { startRun } = simulated(exponential(2));
    const comparison = await compare({
      startRun,
      a: A,
      b: B,
      arrivals: ARRIVALS,
      pairs: 20,
      secondsPerBlock: 1,
      signal: stop.signal,
      onProgress: ({ pair }) => pair === 8 && stop.abort(),
    });
    expect(comparison.pairs).toBe(7);
  });

  test('with fewer than 6 pairs is refused', async () => {
    const { startRun } = simulated(exponential(2));
    await expect(compare({ startRun, a: A, b: B, arrivals: ARRIVALS, pairs: 5 })).rejects.toThrow(
      'pairs: expected a whole number from 6, got 5.',
    );
  });

  test('is written as text, JSON and a picture', async () => {
    const { startRun } = simulated(byTarget(exponential(2), exponential(4)));
    const comparison = await compare({
      startRun,
      a: A,
      b: B,
      arrivals: ARRIVALS,
      pairs: 8,
      secondsPerBlock: 2,
      targetLatencyMs: 20,
    });
    const text = compareText(comparison);
    expect(text).toMatch(/^B differs from A: mean latency \+/);
    expect(text).toContain(`A  ${A.url}\nB  ${B.url}\n8 pairs`);
    const json = JSON.parse(JSON.stringify(compareJson(comparison)));
    expect(json).toMatchObject({ differs: true, pairs: 8, target_latency_ms: 20 });
    expect(json.metrics.map(({ name }: { name: string }) => name)).toEqual([
      'mean_ms',
      'p50_ms',
      'p99_ms',
      'good_share',
      'failed_share',
    ]);
    expect(compareChart(comparison)).toMatch(/^<svg.*pair by pair.*<\/svg>\s*$/s);
  });
});

test('of warnings that differ in their figures only, the worst is kept', () => {
  const blocked = (ms: number) => `The event loop was blocked for up to ${ms} ms.`;
  const late = 'The generator sent requests 12 ms late on average.';
  expect(worstOfEach([blocked(55), late, blocked(590), blocked(78)])).toEqual([blocked(590), late]);
});
