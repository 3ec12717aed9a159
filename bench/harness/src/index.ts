/** What the benchmarks of this repository share; see the README. */
export {
  chosenFigures,
  chosenOf,
  FLAGS,
  parseFlags,
  timedEffort,
  UsageError,
  validRounds,
  validSeconds,
} from './command-line.js';
export type { Effort, Figure, FigureResult, Measured, NamedFigure, Verdict } from './figure.js';
export { freePort } from './free-port.js';
export { atLeast, atMost, type Goal, markOf, within } from './goal.js';
export { medianText, spreadText } from './notation.js';
export { figuresJson, jsonOf, judged, noteLine, textOf } from './report.js';
export { aboutRun, measureAll, runCommand, writeReport } from './run-command.js';
export { type FiguresCommand, runFigures } from './run-figures.js';
export { type Say, sayFor } from './say.js';
export { medianOf, pairedRatios, percentile, type Summary, summaryOf } from './statistics.js';
export { limitMs, nowMs, pauseMs, setTimer } from './stopwatch.js';
export { linesOf, type Table } from './table.js';
export { type Turns, takeTurns } from './turns.js';
