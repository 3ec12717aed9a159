/** The report of the arena: figures of the targets, and averages of families of cells. */
import type { FamilyFigure, TargetFigure } from '../page/arena-page.js';
import { type Figure, figureOf, type GoalFigure, isReached, judge, limitOf } from '../targets/judge.js';
import type { Aside, CellResult, Extent, Goal, Target } from '../targets/target.js';

export interface ArenaReport {
  readonly extent: Extent;
  readonly firstSeed: number;
  readonly targets: readonly TargetReport[];
  readonly families: readonly FamilyFigure[];
  readonly results: readonly CellResult[];
}

export interface TargetReport {
  readonly target: Target;
  readonly figures: readonly (GoalFigure & { readonly limit: number; readonly isWithinLimit: boolean })[];
  readonly asides: readonly (Figure & { readonly aside: Aside })[];
  readonly reached: boolean;
}

/** Target 8 is real time and cannot be simulated. */
export const ELSEWHERE = {
  number: 8,
  what: 'decide + learning, per item',
  goal: '≤ 2 µs',
  measuredBy: 'npm run bench:core',
} as const;

export function arenaReport(
  extent: Extent,
  firstSeed: number,
  targets: readonly Target[],
  results: readonly CellResult[],
): ArenaReport {
  const resultsOf = ({ name }: Target) => results.filter(({ cell }) => cell.target === name);
  return {
    extent,
    firstSeed,
    targets: targets.map((target) => targetReport(extent, target, resultsOf(target))),
    families: targets.flatMap((target) => familyFigures(target, resultsOf(target))),
    results,
  };
}

function targetReport(extent: Extent, target: Target, results: readonly CellResult[]): TargetReport {
  const figures = target.goals.map((goal) => {
    const figure = judge(goal, results);
    const limit = limitOf(goal, extent);
    return { ...figure, limit, isWithinLimit: isReached(figure.value, { ...goal, goal: limit }) };
  });
  return {
    target,
    figures,
    asides: (target.asides ?? [])
      .map((aside) => ({ aside, ...figureOf(aside, results) }))
      .filter(({ cells }) => cells > 0),
    reached: figures.every(({ reached }) => reached),
  };
}

function familyFigures({ family }: Target, results: readonly CellResult[]): FamilyFigure[] {
  const { what, toBound, toBestPeer, better } = family;
  const names = [...new Set(results.map(({ cell }) => cell.family))];
  return names.map((name) => {
    const members = results.filter(({ cell }) => cell.family === name);
    const figureFor = (measure: string | undefined) =>
      measure === undefined ? undefined : figureOf({ measure, better }, members);
    const bound = figureFor(toBound);
    const peers = figureFor(toBestPeer);
    const peerNames = new Set(members.flatMap(({ bestPeer = [] }) => bestPeer));
    const [onlyPeer] = peerNames.size === 1 ? peerNames : [];
    const { worst, worstCell } = (
      toBestPeer !== undefined && toBound === undefined ? peers : bound
    ) as Figure;
    return {
      family: name,
      what,
      cells: members.length,
      toBound: bound?.mean,
      toBestPeer: peers?.mean,
      ...(onlyPeer === undefined ? {} : { bestPeer: onlyPeer }),
      worstCell: `${worst.toFixed(3)} ${worstCell}`,
      better,
    };
  });
}

/** The targets for the HTML page: one row per goal. */
export function targetFigures({ targets }: ArenaReport): TargetFigure[] {
  return targets.flatMap(({ target, figures }) =>
    figures.map(({ goal, value, worst, worstCell, reached }) => ({
      number: target.number,
      what: `${target.what}: ${goal.what}`,
      goal: goalText(goal),
      measured: formatFigure(value),
      worst: `${formatFigure(worst)} ${worstCell}`,
      reached,
    })),
  );
}

/** Further facts of the run for the HTML page. */
export function pageFacts({ extent, firstSeed, results }: ArenaReport): { name: string; value: string }[] {
  const last = Math.max(firstSeed, ...results.flatMap(({ cell }) => cell.seeds));
  return [
    { name: 'Cells', value: `${results.length}${extent === 'quick' ? ', a quick slice' : ''}` },
    { name: 'Seeds', value: last === firstSeed ? `${last}` : `${firstSeed}–${last}` },
    { name: `Target ${ELSEWHERE.number}: ${ELSEWHERE.what}`, value: ELSEWHERE.measuredBy },
  ];
}

export function goalText({ over, better, goal }: Goal): string {
  return `${over === 'mean' ? 'mean ' : ''}${better === 'lower' ? '≤' : '≥'} ${goal}`;
}

export function formatFigure(value: number): string {
  return Number.isFinite(value) ? value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 3) : '–';
}
