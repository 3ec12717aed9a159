import { greedy, window } from 'batchwise';
import { expect, test } from 'vitest';
import { LOADS, type ShowcaseOptions, showcase } from '../src/page/showcase.js';
import { formulaCurve } from '../src/simulation/curve.js';

const contenders = [
  { name: 'Greedy', contender: { name: 'greedy', policy: () => greedy(), knowsTarget: false } },
  {
    name: 'Window',
    contender: { name: 'window', policy: () => window({ maxWaitMs: 2 }), knowsTarget: false },
  },
];
const curve = { curve: formulaCurve('2 + b', 8, (b) => 2 + b), title: 'Small', about: 'A small one.' };
const options: ShowcaseOptions = { contenders, curves: [curve], slots: [1, 2], effort: 0.05 };

test('the showcase has the requested contenders, curves and slots', async () => {
  const { contenders: names, cells } = await showcase(options);
  expect(names).toEqual(['Greedy', 'Window']);
  expect(cells.map(({ curve, slots }) => [curve, slots])).toEqual([
    ['2 + b', 1],
    ['2 + b', 2],
  ]);
  for (const cell of cells) {
    expect(cell.targetLatencyMs).toBe(20);
    expect(cell.capacityPerSecond).toBeCloseTo(800 * cell.slots);
    expect(cell.service[0]).toEqual([1, 3]);
    expect(cell.service.at(-1)).toEqual([8, 10]);
    for (const sweeps of [cell.meanMs, cell.p99Ms, cell.goodput]) {
      expect(sweeps.map(({ name }) => name)).toEqual(names);
    }
    for (const { points } of cell.goodput) {
      expect(points.map(([load]) => load)).toEqual(LOADS);
      for (const [, share] of points) expect(share >= 0 && share <= 1).toBe(true);
    }
    // Without a target there is no latency under overload.
    expect(Math.max(...(cell.meanMs[0]?.points ?? []).map(([load]) => load))).toBeLessThan(1);
  }
});

test('latency grows with load, and p99 is above the mean', async () => {
  const { cells } = await showcase({ ...options, effort: 0.5, slots: [1] });
  const [mean, p99] = [cells[0]?.meanMs[0]?.points ?? [], cells[0]?.p99Ms[0]?.points ?? []];
  expect(mean.at(-1)?.[1]).toBeGreaterThan(mean[0]?.[1] as number);
  mean.forEach(([, ms], i) => {
    expect(p99[i]?.[1]).toBeGreaterThan(ms);
  });
});

test('the same seed gives the same showcase, as plain data', async () => {
  const once = await showcase(options);
  expect(await showcase(options)).toEqual(once);
  expect(JSON.parse(JSON.stringify(once))).toEqual({
    ...once,
    cells: once.cells.map(({ meanBoundMs: _none, ...cell }) => cell),
  });
});

test('timelines have the same arrivals for each contender, the peer above adaptive', async () => {
  const { cells } = await showcase({ ...options, slots: [1] });
  for (const { runs } of cells[0]?.stretches ?? []) {
    expect(runs.map(({ name }) => name)).toEqual(['Window', 'Greedy']);
    const [theirs, ours] = runs.map(({ timeline }) => timeline);
    expect(theirs?.answeredAt).toEqual(ours?.answeredAt);
    expect([theirs?.fromMs, theirs?.toMs]).toEqual([ours?.fromMs, ours?.toMs]);
    expect(ours?.batches.length).toBeGreaterThan(5);
  }
});

test('progress ends at the total', async () => {
  const heard: [number, number][] = [];
  await showcase({ ...options, onProgress: (done, total) => heard.push([done, total]) });
  const total = heard[0]?.[1] as number;
  expect(heard).toEqual(Array.from({ length: total }, (_, i) => [i + 1, total]));
});

test('a bound is drawn if there is one', async () => {
  const meanBound = (_curve: unknown, slots: number) => (slots === 1 ? 3 : undefined);
  const { cells } = await showcase({ ...options, meanBound });
  expect(cells.map(({ meanBoundMs }) => meanBoundMs?.points[0])).toEqual([[LOADS[0], 3], undefined]);
});

test('a timeline of an unknown contender throws', async () => {
  await expect(showcase({ ...options, timelines: ['unknown'] })).rejects.toThrow(
    'There is no contender unknown',
  );
});
