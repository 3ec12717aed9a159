/** The report of the arena as text: targets, then families of cells. */
import type { FamilyFigure } from '../page/arena-page.js';
import { type Palette, PLAIN } from '../plan/plan-text.js';
import { type ArenaReport, ELSEWHERE, formatFigure, goalText, type TargetReport } from './arena-report.js';
import { alignedTable, type Row } from './text-table.js';

export function arenaText(report: ArenaReport, palette: Palette = PLAIN): string {
  const { targets, families, results, extent, firstSeed } = report;
  const reached = targets.filter((target) => target.reached).length;
  const head = `${results.length} cells (${extent}), seeds from ${firstSeed}: ${reached} of ${targets.length} targets reached`;
  return [
    palette.faint(head),
    alignedTable(
      [
        ['Target', 'goal', 'mean', 'worst', 'reached', 'worst cell'].map(palette.heading),
        ...targets.flatMap((target) => targetRows(target, palette)),
      ],
      ['left', 'left', 'right', 'right', 'left', 'left'],
    ),
    palette.faint(
      `${ELSEWHERE.number}. ${ELSEWHERE.what}, ${ELSEWHERE.goal}: measured by ${ELSEWHERE.measuredBy}, not here`,
    ),
    alignedTable(
      [
        ['Family', 'cells', 'adaptive ÷ bound', 'adaptive ÷ best peer', 'worst cell'].map(palette.heading),
        ...families.map(familyRow),
      ],
      ['left', 'right', 'right', 'right', 'left'],
    ),
    '',
  ]
    .join('\n\n')
    .trimEnd()
    .concat('\n');
}

function targetRows({ target, figures, asides }: TargetReport, palette: Palette): Row[] {
  return [
    [`${target.number}. ${target.what}`],
    ...figures.map(({ goal, mean, worst, worstCell, reached }) => [
      `   ${goal.what}`,
      goalText(goal),
      formatFigure(mean),
      formatFigure(worst),
      reached ? palette.good('yes') : palette.bad('no'),
      worstCell,
    ]),
    ...asides.map(({ aside, mean, worst, worstCell }) =>
      [`   ${aside.what}`, '', formatFigure(mean), formatFigure(worst), '', worstCell].map((cell) =>
        palette.faint(cell),
      ),
    ),
  ];
}

function familyRow({ family, what, cells, toBound, toBestPeer, bestPeer, worstCell }: FamilyFigure): Row {
  const peers = toBestPeer === undefined ? '–' : formatFigure(toBestPeer);
  return [
    `${family}${what === undefined ? '' : `: ${what}`}`,
    String(cells),
    toBound === undefined ? '–' : formatFigure(toBound),
    bestPeer === undefined ? peers : `${peers} (${bestPeer})`,
    worstCell,
  ];
}

/** One line per figure that is worse than its limit. */
export function missedLimits({ targets }: ArenaReport): string[] {
  return targets.flatMap(({ target, figures }) =>
    figures
      .filter(({ isWithinLimit }) => !isWithinLimit)
      .map(({ goal, value, limit, worstCell }) => {
        const sign = goal.better === 'lower' ? '≤' : '≥';
        const where = goal.over === 'worst' ? ` in ${worstCell}` : '';
        return `target ${target.number}, ${goal.what}: ${formatFigure(value)}${where}, expected ${sign} ${limit} (goal ${goal.goal})`;
      }),
  );
}
