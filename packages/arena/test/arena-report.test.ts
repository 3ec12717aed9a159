import {
  type ArenaReport,
  arenaJson,
  arenaPage,
  arenaReport,
  arenaText,
  type Cell,
  type CellResult,
  missedLimits,
  pageFacts,
  TARGETS,
  type Target,
  targetFigures,
} from '@batchwise/arena';
import { beforeEach, describe, expect, test } from 'vitest';
import { isReached, LIMITS, limitOf } from '../src/targets/judge.js';

const [oneSlot] = TARGETS as [Target];
const goodput = TARGETS.find(({ name }) => name === 'goodput') as Target;

const cell: Cell = {
  target: 'one_slot',
  family: 'Poisson, 1 slot',
  curve: 'c',
  slots: 1,
  arrivals: { kind: 'poisson', load: 0.5 },
  items: 100,
  seeds: [101, 102],
};

function resultAt(load: number, mean: number, p99: number): CellResult {
  return {
    cell: { ...cell, arrivals: { kind: 'poisson', load } },
    measures: { mean_to_optimum: mean, p99_to_greedy: p99, mean_to_greedy: 0.5 },
    bestPeer: 'greedy',
  };
}

let report: ArenaReport;

beforeEach(() => {
  report = arenaReport('quick', 101, [oneSlot], [resultAt(0.1, 1.002, 1.01), resultAt(0.9, 1.008, 1.5)]);
});

describe('as text', () => {
  test('every goal has its figures, its worst cell and its verdict', () => {
    const text = arenaText(report);
    expect(text).toMatch(/^2 cells \(quick\), seeds from 101: 0 of 1 targets reached$/m);
    expect(text).toMatch(/^ {3}mean ÷ optimum +≤ 1\.01 +1\.005 +1\.008 +yes +c k 1 poisson ρ 0\.9$/m);
    expect(text).toMatch(/^ {3}p99 ÷ greedy +≤ 1\.02 +1\.255 +1\.500 +no +c k 1 poisson ρ 0\.9$/m);
    expect(text).toMatch(
      /^Poisson, 1 slot: mean +2 +1\.005 +0\.500 \(greedy\) +1\.008 c k 1 poisson ρ 0\.9$/m,
    );
    expect(text).toContain('measured by npm run bench:core');
  });

  test('columns are aligned', () => {
    const [, table = ''] = arenaText(report).split('\n\n');
    const starts = table
      .split('\n')
      .filter((line) => /c k 1/.test(line))
      .map((line) => line.indexOf('c k 1'));
    expect(new Set(starts).size).toBe(1);
    expect(table.split('\n')[0]?.indexOf('worst cell')).toBe(starts[0]);
  });

  test('columns are aligned with colours', () => {
    const loud = (text: string) => `\x1b[1m${text}\x1b[22m`;
    const coloured = arenaText(report, { heading: loud, faint: loud, good: loud, bad: loud });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: ANSI escape sequences
    expect(coloured.replace(/\x1b\[\d+m/g, '')).toBe(arenaText(report));
  });

  test('asides are printed only if they have cells', () => {
    const of = (targetFactor: number): CellResult => ({
      cell: { ...cell, target: 'goodput', family: 'f', targetFactor },
      measures: { true: 1, learned: 0.99, cold: 0.9, bentoml: 0.8 },
    });
    const text = arenaText(arenaReport('quick', 101, [goodput], [of(3)]));
    expect(text).toMatch(/^ {3}learned, target 3·T\(B\) +0\.990 +0\.990/m);
    expect(text).toMatch(/^ {3}bentoml +0\.800 +0\.800/m);
    expect(text).not.toContain('target 2·T(B)');
  });
});

test('the JSON has the keys of the reference', () => {
  const json = arenaJson(report);
  expect(JSON.parse(JSON.stringify(json))).toEqual({
    extent: 'quick',
    first_seed: 101,
    cells: 2,
    targets_reached: 0,
    targets: [
      {
        number: 1,
        name: 'one_slot',
        what: expect.any(String),
        reached: false,
        goals: [
          {
            id: 'one_slot_mean',
            what: 'mean ÷ optimum',
            measure: 'mean_to_optimum',
            over: 'worst',
            better: 'lower',
            goal: 1.01,
            limit: expect.any(Number),
            cells: 2,
            mean: 1.005,
            worst: 1.008,
            worst_cell: 'c k 1 poisson ρ 0.9',
            value: 1.008,
            reached: true,
            within_limit: true,
          },
          expect.objectContaining({ id: 'one_slot_p99', value: 1.5, reached: false, within_limit: false }),
        ],
        asides: [],
      },
    ],
    elsewhere: [{ number: 8, what: expect.any(String), goal: '≤ 2 µs', measured_by: 'npm run bench:core' }],
    families: [
      {
        family: 'Poisson, 1 slot',
        what: 'mean',
        better: 'lower',
        cells: 2,
        to_bound: 1.005,
        to_best_peer: 0.5,
        best_peer: 'greedy',
        worst_cell: '1.008 c k 1 poisson ρ 0.9',
      },
    ],
    results: [
      {
        target: 'one_slot',
        family: 'Poisson, 1 slot',
        cell: 'c k 1 poisson ρ 0.1',
        curve: 'c',
        slots: 1,
        arrivals: { kind: 'poisson', load: 0.1 },
        target_factor: null,
        noise: 0,
        timer_ms: 0,
        slowdown: null,
        items: 100,
        seeds: [101, 102],
        best_peer: 'greedy',
        measures: { mean_to_optimum: 1.002, p99_to_greedy: 1.01, mean_to_greedy: 0.5 },
      },
      expect.objectContaining({ cell: 'c k 1 poisson ρ 0.9' }),
    ],
  });
});

test('on the page every goal has a row with its worst cell', () => {
  expect(targetFigures(report)).toEqual([
    {
      number: 1,
      what: `${oneSlot.what}: mean ÷ optimum`,
      goal: '≤ 1.01',
      measured: '1.008',
      worst: '1.008 c k 1 poisson ρ 0.9',
      reached: true,
    },
    {
      number: 1,
      what: `${oneSlot.what}: p99 ÷ greedy`,
      goal: '≤ 1.02',
      measured: '1.500',
      worst: '1.500 c k 1 poisson ρ 0.9',
      reached: false,
    },
  ]);
  expect(pageFacts(report)).toContainEqual({ name: 'Seeds', value: '101–102' });
  // A target is reached if all of its goals are.
  const nothing = { contenders: [], cells: [] };
  const page = arenaPage({ targets: targetFigures(report), families: [], showcase: nothing });
  expect(page).toContain('<dd>0 of 1</dd>');
});

describe('limits', () => {
  test('a figure that is worse than its limit is reported with goal, limit and cell', () => {
    expect(missedLimits(report)).toEqual([
      expect.stringMatching(
        /^target 1, p99 ÷ greedy: 1\.500 in c k 1 poisson ρ 0\.9, expected ≤ [\d.]+ \(goal 1\.02\)$/,
      ),
    ]);
  });

  test('refer to existing goals and are never stricter than the goal', () => {
    const goals = TARGETS.flatMap((target) => target.goals);
    for (const [id, { goal }] of Object.entries(LIMITS))
      expect(goals.find((each) => each.id === id)?.goal, id).toBe(goal);
    for (const goal of goals) {
      for (const extent of ['quick', 'full'] as const)
        expect(isReached(goal.goal, { ...goal, goal: limitOf(goal, extent) }), goal.id).toBe(true);
    }
  });
});
