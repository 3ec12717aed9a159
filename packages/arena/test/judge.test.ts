import { type Cell, type CellResult, type Goal, type Run, TARGETS } from '@batchwise/arena';
import { describe, expect, test } from 'vitest';
import { itemsFor } from '../src/grid/grid-cell.js';
import { afterLearning } from '../src/targets/contest.js';
import { busyMsFrom } from '../src/targets/efficiency.js';
import { judge } from '../src/targets/judge.js';
import { afterSlowdown } from '../src/targets/rough-backend.js';
import { FIRST_SEED } from '../src/tournament/arena-runs.js';

const cell: Cell = {
  target: 'one_slot',
  family: 'Poisson',
  curve: 'c',
  slots: 1,
  arrivals: { kind: 'poisson', load: 0.5 },
  items: 100,
  seeds: [101],
};

function resultAt(load: number, value: number): CellResult {
  return { cell: { ...cell, arrivals: { kind: 'poisson', load } }, measures: { ratio: value } };
}

const goal: Goal = {
  id: 'ratio',
  what: 'ours ÷ theirs',
  measure: 'ratio',
  over: 'worst',
  better: 'lower',
  goal: 1.01,
};
const results = [resultAt(0.1, 1), resultAt(0.5, 1.02), resultAt(0.9, 0.98)];

describe('a goal', () => {
  test('over the worst cell has the value of that cell', () => {
    expect(judge(goal, results)).toMatchObject({
      cells: 3,
      mean: 1,
      worst: 1.02,
      worstCell: 'c k 1 poisson ρ 0.5',
      value: 1.02,
      reached: false,
    });
  });

  test('over the mean has the mean of all cells', () => {
    expect(judge({ ...goal, over: 'mean' }, results)).toMatchObject({ value: 1, worst: 1.02, reached: true });
  });

  test('may be a lower limit', () => {
    const floor: Goal = { ...goal, better: 'higher', goal: 0.98 };
    expect(judge(floor, results)).toMatchObject({
      value: 0.98,
      worstCell: 'c k 1 poisson ρ 0.9',
      reached: true,
    });
    expect(judge({ ...floor, goal: 0.981 }, results).reached).toBe(false);
  });

  test('may be restricted to some cells', () => {
    const isQuiet = ({ arrivals }: Cell) => arrivals.kind !== 'closed' && arrivals.load < 0.5;
    expect(judge({ ...goal, where: isQuiet }, results)).toMatchObject({ cells: 1, value: 1, reached: true });
  });

  test('ignores cells without the measure', () => {
    const without = [...results, resultAt(0.7, Number.NaN), { cell, measures: {} }];
    expect(judge(goal, without)).toMatchObject({ cells: 3, worst: 1.02 });
  });

  test('without any figure is not reached', () => {
    expect(judge(goal, [])).toMatchObject({ cells: 0, value: Number.NaN, reached: false });
    expect(judge({ ...goal, better: 'higher' }, [])).toMatchObject({ reached: false });
  });
});

describe.each(TARGETS)('target $number, $name,', (target) => {
  test('has the measures of its goals, asides and families in its cells', async () => {
    const cells = target.cells('quick', FIRST_SEED);
    // Short runs of a few cells: only the names of measures matter.
    const quickest = cells.filter(({ curve }) => curve === 'a' || curve === 'c');
    const small = (quickest.length > 0 ? quickest : cells).slice(0, 2);
    const played = await Promise.all(
      small.map((each) => target.play({ ...each, items: Math.min(each.items, 1500) })),
    );
    const { family, goals, asides = [] } = target;
    const wanted = [...goals, ...asides].map(({ measure }) => measure);
    for (const { measures, cell: of } of played) {
      expect(small).toContainEqual({ ...of, items: expect.any(Number) });
      for (const name of [...wanted, family.toBound, family.toBestPeer].filter((each) => each !== undefined))
        expect(measures).toHaveProperty(name);
    }
    expect(goals.some((each) => judge(each, played).cells > 0)).toBe(true);
  });

  test('has goals with unique ids, each with cells in both grids', () => {
    const ids = TARGETS.flatMap(({ goals }) => goals.map(({ id }) => id));
    for (const extent of ['quick', 'full'] as const) {
      const cells = target.cells(extent, FIRST_SEED);
      for (const { id, where = () => true } of target.goals) {
        expect(ids.filter((each) => each === id)).toHaveLength(1);
        expect(cells.filter(where).length, id).toBeGreaterThan(0);
      }
    }
  });
});

describe('the measured part of a run', () => {
  /** Batches of ten, one per millisecond, with a duration of 1 ms. */
  function run(count: number, slowAtMs?: number): Run {
    const batches = Array.from({ length: count }, (_, i) => ({
      startedAt: i,
      durationMs: 1,
      size: 10,
      reason: 'idle',
      itemsBefore: 10 * (i + 1),
      first: 10 * i,
    }));
    const scenario = slowAtMs === undefined ? {} : { slowdown: { atMs: slowAtMs, factor: 2 } };
    return { batches, scenario, latencyMs: new Float64Array(10 * count) } as unknown as Run;
  }

  test('begins after 200 batches of all contenders, or a share of the items if that is later', () => {
    expect(afterLearning([run(1000), run(1000)])).toBe(2010);
    expect(afterLearning([run(2000)])).toBe(4000);
  });

  // A rule that cannot keep up starts its 200th batch after the last arrival: nothing was measured.
  test('is at least the second half if a contender has fewer than 200 batches', () => {
    expect(afterLearning([run(100)])).toBe(500);
  });

  test('begins 200 batches after a slowdown, and is at least a quarter of the run', () => {
    expect(afterSlowdown([run(1000, 500)])).toBe(7010);
    expect(afterSlowdown([run(600, 500)])).toBe(4500);
  });

  test('includes a batch across its beginning by its share of items', () => {
    expect(busyMsFrom(run(10), 0)).toBe(10);
    expect(busyMsFrom(run(10), 35)).toBeCloseTo(6.5, 9);
  });

  test('has about the wanted number of batches, within limits', () => {
    const length = { batches: 100, least: 300, most: 900 };
    const at = (load: number) => itemsFor({ ...cell, arrivals: { kind: 'poisson', load } }, length);
    expect([at(0.1), at(0.95)]).toEqual([300, 900]);
  });
});
