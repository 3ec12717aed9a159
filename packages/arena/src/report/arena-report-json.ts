/** The report of the arena as JSON; the keys are in docs/reference/arena.md. */

import { type CellArrivals, cellName } from '../grid/grid-cell.js';
import type { FamilyFigure } from '../page/arena-page.js';
import { exactNumber } from '../plan/plan-notation.js';
import type { CellResult } from '../targets/target.js';
import { type ArenaReport, ELSEWHERE, type TargetReport } from './arena-report.js';

export function arenaJson({
  extent,
  firstSeed,
  targets,
  families,
  results,
}: ArenaReport): Record<string, unknown> {
  return {
    extent,
    first_seed: firstSeed,
    cells: results.length,
    targets_reached: targets.filter(({ reached }) => reached).length,
    targets: targets.map(targetJson),
    elsewhere: [
      {
        number: ELSEWHERE.number,
        what: ELSEWHERE.what,
        goal: ELSEWHERE.goal,
        measured_by: ELSEWHERE.measuredBy,
      },
    ],
    families: families.map(familyJson),
    results: results.map(resultJson),
  };
}

function targetJson({ target, reached, figures, asides }: TargetReport): Record<string, unknown> {
  return {
    number: target.number,
    name: target.name,
    what: target.what,
    reached,
    goals: figures.map(({ goal, cells, mean, worst, worstCell, value, limit, ...verdict }) => ({
      id: goal.id,
      what: goal.what,
      measure: goal.measure,
      over: goal.over,
      better: goal.better,
      goal: goal.goal,
      limit,
      cells,
      mean: exactNumber(mean),
      worst: exactNumber(worst),
      worst_cell: worstCell,
      value: exactNumber(value),
      reached: verdict.reached,
      within_limit: verdict.isWithinLimit,
    })),
    asides: asides.map(({ aside, cells, mean, worst, worstCell }) => ({
      what: aside.what,
      measure: aside.measure,
      better: aside.better,
      cells,
      mean: exactNumber(mean),
      worst: exactNumber(worst),
      worst_cell: worstCell,
    })),
  };
}

function familyJson(figure: FamilyFigure): Record<string, unknown> {
  const { family, what, cells, toBound, toBestPeer, bestPeer, worstCell, better } = figure;
  return {
    family,
    what: what ?? null,
    better: better ?? 'lower',
    cells,
    to_bound: exactNumber(toBound),
    to_best_peer: exactNumber(toBestPeer),
    best_peer: bestPeer ?? null,
    worst_cell: worstCell,
  };
}

function resultJson({ cell, measures, bestPeer }: CellResult): Record<string, unknown> {
  return {
    target: cell.target,
    family: cell.family,
    cell: cellName(cell),
    curve: cell.curve,
    slots: cell.slots,
    arrivals: arrivalsJson(cell.arrivals),
    target_factor: cell.targetFactor ?? null,
    noise: cell.noise ?? 0,
    timer_ms: cell.timerMs ?? 0,
    slowdown: cell.slowdown ?? null,
    items: cell.items,
    seeds: cell.seeds,
    best_peer: bestPeer ?? null,
    measures: Object.fromEntries(Object.entries(measures).map(([name, value]) => [name, exactNumber(value)])),
  };
}

function arrivalsJson(arrivals: CellArrivals): Record<string, unknown> {
  if (arrivals.kind !== 'closed') return { kind: arrivals.kind, load: arrivals.load };
  const { kind, users, think, thinking } = arrivals;
  return { kind, users, think_factor: think, thinking };
}
