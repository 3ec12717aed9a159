import { cellName, GRID_CURVES, HOLD_OUT_CURVES, randomStream, scenarioOf, TARGETS } from '@batchwise/arena';
import { describe, expect, test } from 'vitest';
import { type Cell, curveOf, ratePerMs, typicalBatch } from '../src/grid/grid-cell.js';
import { gridTrace } from '../src/grid/grid-trace.js';
import { FIRST_SEED } from '../src/tournament/arena-runs.js';

const EXTENTS = ['quick', 'full'] as const;
const TUNING_SEEDS = 20;

const cell: Cell = {
  target: 'best_peer',
  family: 'poisson',
  curve: 'a',
  slots: 2,
  arrivals: { kind: 'poisson', load: 0.5 },
  items: 1000,
  seeds: [101],
};

describe.each(EXTENTS)('the cells of the %s grid', (extent) => {
  const cells = TARGETS.flatMap((target) => target.cells(extent, FIRST_SEED));

  test('are valid scenarios with arrivals', () => {
    for (const each of cells) {
      const scenario = scenarioOf(each, each.seeds[0] as number);
      const { arrivals } = scenario;
      if (arrivals.kind === 'closed') {
        expect(arrivals.thinkMs).toBeGreaterThan(0);
        continue;
      }
      const next = arrivals.times(randomStream(scenario.seed, 'arrivals'));
      const first = next();
      expect(first).toBeGreaterThan(0);
      expect(next()).toBeGreaterThanOrEqual(first);
    }
  });

  test('are plain data that can be sent to a thread', () => {
    expect(structuredClone(cells)).toEqual(cells);
    expect(JSON.parse(JSON.stringify(cells))).toEqual(cells);
  });

  test('have unique names within a target', () => {
    const names = cells.map((each) => `${each.target} ${cellName(each)}`);
    expect(new Set(names).size).toBe(names.length);
  });

  test('have the name of their target', () => {
    for (const target of TARGETS) {
      for (const each of target.cells(extent, 1)) expect(each.target).toBe(target.name);
    }
  });

  test('use no tuning seed, and start at the first seed', () => {
    expect(Math.min(...cells.flatMap(({ seeds }) => seeds))).toBeGreaterThan(TUNING_SEEDS);
    const moved = TARGETS.flatMap((target) => target.cells(extent, 5000));
    expect(moved.map(({ seeds }) => seeds.map((seed) => seed - 5000))).toEqual(
      cells.map(({ seeds }) => seeds.map((seed) => seed - FIRST_SEED)),
    );
  });
});

describe('the full grid', () => {
  const cells = TARGETS.flatMap((target) => target.cells('full', FIRST_SEED));

  test('has every curve, 1, 2, 4 and 16 slots, every kind of arrivals, every target, noise and timers', () => {
    const distinct = (of: (each: Cell) => unknown) => new Set(cells.map(of));
    expect(distinct(({ curve }) => curve)).toEqual(
      new Set([...GRID_CURVES, ...HOLD_OUT_CURVES].map(({ name }) => name)),
    );
    expect(distinct(({ slots }) => slots)).toEqual(new Set([1, 2, 4, 16]));
    expect(distinct(({ arrivals }) => arrivals.kind)).toEqual(
      new Set(['poisson', 'mmpp', 'on-off', 'fan-out', 'lognormal', 'trace', 'closed']),
    );
    expect(distinct(({ targetFactor }) => targetFactor)).toEqual(new Set([undefined, 1.5, 2, 3]));
    expect(distinct(({ timerMs = 0 }) => timerMs)).toEqual(new Set([0, 1]));
    expect(distinct(({ noise = 0 }) => noise)).toEqual(new Set([0, 0.05, 0.15, 0.3]));
  });

  test('uses unseen curves in one target only', () => {
    const unseen = HOLD_OUT_CURVES.map(({ name }) => name);
    expect(unseen.filter((name) => GRID_CURVES.some((curve) => curve.name === name))).toEqual([]);
    const users = new Set(cells.filter(({ curve }) => unseen.includes(curve)).map(({ target }) => target));
    expect([...users]).toEqual(['best_peer']);
  });
});

describe('a cell', () => {
  test('has a load relative to all slots', () => {
    expect(ratePerMs(cell)).toBeCloseTo(2 * 0.5 * (64 / 11.4), 9);
  });

  test('with a slowdown has a load relative to the throughput after it', () => {
    const slowed = { ...cell, slowdown: 2 };
    expect(ratePerMs(slowed)).toBeCloseTo(ratePerMs(cell) / 2, 9);
    expect(scenarioOf(slowed, 1).slowdown).toEqual({ atMs: 500 / ratePerMs(slowed), factor: 2 });
  });

  test('of a closed loop has think times relative to a batch with all users', () => {
    const loop: Cell = { ...cell, arrivals: { kind: 'closed', users: 32, think: 0.5, thinking: 'constant' } };
    expect(scenarioOf(loop, 1).arrivals).toMatchObject({ users: 32, thinkMs: 0.5 * 8.2 });
  });

  test('is named by its parameters', () => {
    expect(cellName(cell)).toBe('a k 2 poisson ρ 0.5');
    expect(cellName({ ...cell, targetFactor: 2, noise: 0.05, timerMs: 1, slowdown: 2 })).toBe(
      'a k 2 poisson ρ 0.5, target 2·T(B), noise 5 %, timer 1 ms, 2× as slow',
    );
  });

  test('with an unknown curve throws', () => {
    expect(() => curveOf({ curve: 'z' })).toThrow('There is no curve z in the grid.');
  });

  test('has a typical batch size, with which the slots keep up', () => {
    const { durationMs } = curveOf(cell);
    const size = typicalBatch(cell);
    expect(size).toBeGreaterThan(1);
    expect(ratePerMs(cell) * durationMs(size)).toBeLessThanOrEqual(2 * size);
    expect(ratePerMs(cell) * durationMs(size - 1)).toBeGreaterThan(2 * (size - 1));
  });
});

describe('the recorded trace', () => {
  const times = (perMs: number, count: number) => {
    const next = gridTrace(perMs).times(randomStream(1, 'arrivals'));
    return Array.from({ length: count }, () => next());
  };

  test('has the given rate in every repetition', () => {
    const at = times(4, 36_000);
    expect(at.at(-1)).toBeCloseTo(9000, 6);
    expect(at.every((time, i) => i === 0 || time >= (at[i - 1] as number))).toBe(true);
    expect((at[12_000] as number) - (at[0] as number)).toBeCloseTo(3000, 6);
  });

  test('varies: its busiest twelfth has more than three times the rate of its quietest', () => {
    const counts = new Array(12).fill(0);
    for (const at of times(1, 12_000)) counts[Math.min(11, Math.floor(at / 1000))] += 1;
    expect(Math.max(...counts)).toBeGreaterThan(3 * Math.min(...counts));
  });
});
