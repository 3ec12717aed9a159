/** How many requests a second pass from one process to another and back, and how long one takes. */
import {
  atLeast,
  atMost,
  type FigureResult,
  type Goal,
  medianText,
  pairedRatios,
  spreadText,
  takeTurns,
} from '@batchwise/bench-harness';
import type { Effort, Figure } from '../figure.js';
import { runTrial, type TrialName, type TrialResult } from '../trial.js';
import { xaddPerSecond } from '../xadd-ceiling.js';

const OURS = 'batchwise';
const CEILING = 'redis-benchmark XADD';

/** Of our requests a second ÷ theirs. */
const GOALS: Readonly<Record<string, Goal>> = {
  spike: atLeast(0.8),
  'bullmq-20': atLeast(5),
  'bullmq-200': atLeast(5),
  dynamic_batcher: atLeast(40),
};
const COMMANDS_GOAL = atMost(2);

const HEAD = [
  '',
  'requests/s',
  'min–max',
  'p50 ms',
  'p99 ms',
  'commands/request',
  'mean batch',
  'failed',
  'unanswered',
];

export const throughput100: Figure = throughputAt(100);
export const throughput1000: Figure = throughputAt(1000);

function throughputAt(callers: number): Figure {
  return {
    name: `throughput-${callers}`,
    title: `${callers.toLocaleString('en')} callers in a closed loop, batches of 64, no-op handler`,

    async measure(effort, say) {
      const turns: Record<string, () => Promise<TrialResult | number>> = {};
      for (const contender of effort.contenders) turns[contender] = () => trialOf(contender, callers, effort);
      turns[CEILING] = () => xaddPerSecond(callers, effort.timedMs / 1000);
      const raw = await takeTurns(turns, effort.rounds, say);
      const { [CEILING]: ceiling, ...trials } = raw;
      return resultOf(trials as Record<string, TrialResult[]>, ceiling as number[], callers);
    },
  };
}

function trialOf(contender: TrialName, callers: number, { warmupMs, timedMs }: Effort): Promise<TrialResult> {
  return runTrial({ contender, load: { callers, warmupMs, timedMs }, batchMs: [0] });
}

function resultOf(
  trials: Readonly<Record<string, readonly TrialResult[]>>,
  ceiling: readonly number[],
  callers: number,
): FigureResult {
  const ours = trials[OURS];
  const rows = Object.entries(trials).map(([name, results]) => rowOf(name, results));
  rows.push([CEILING, medianText(ceiling, 0), spreadText(ceiling, 0)]);
  const others = Object.entries(trials).filter(([name]) => name !== OURS);
  const verdicts =
    ours === undefined
      ? []
      : [
          ...others.map(([name, theirs]) => ({
            label: `requests/s, ${OURS} ÷ ${name}`,
            samples: pairedRatios(rates(ours), rates(theirs)),
            digits: 2,
            ...(GOALS[name] && { goal: GOALS[name] }),
          })),
          {
            label: `requests/s, ${OURS} ÷ ${CEILING}`,
            samples: pairedRatios(rates(ours), ceiling),
            digits: 3,
          },
          {
            label: `commands/request, ${OURS}`,
            samples: ours.map((result) => result.commandsPerRequest),
            digits: 2,
            // With fewer callers batches are smaller, and what a batch costs is shared by fewer.
            ...(callers >= 1000 && { goal: COMMANDS_GOAL }),
          },
        ];
  return {
    tables: [{ head: HEAD, rows }],
    verdicts,
    notes: [
      'commands that a script calls count as commands, as in INFO commandstats; the warm-up is included',
      'unanswered: not answered within 5 s of the end of the run',
      `${CEILING}: one connection, -P ${callers}; nobody reads and nobody answers`,
    ],
    raw: { ...trials, [CEILING]: ceiling },
  };
}

function rowOf(name: string, results: readonly TrialResult[]): string[] {
  const sum = (count: (result: TrialResult) => number) =>
    results.reduce((total, result) => total + count(result), 0).toLocaleString('en');
  const sent = sum((result) => result.sent);
  const batches = results.map(meanBatch);
  return [
    name,
    medianText(rates(results), 0),
    spreadText(rates(results), 0),
    medianText(
      results.map((result) => result.p50Ms),
      2,
    ),
    medianText(
      results.map((result) => result.p99Ms),
      1,
    ),
    medianText(
      results.map((result) => result.commandsPerRequest),
      2,
    ),
    batches.some(Number.isNaN) ? '' : medianText(batches, 1),
    sum((result) => result.failed),
    `${sum((result) => result.unanswered)} of ${sent}`,
  ];
}

function rates(results: readonly TrialResult[]): number[] {
  return results.map((result) => result.perSecond);
}

/** NaN where the contender does not tell. */
function meanBatch({ processors: [report] }: TrialResult): number {
  return report === undefined ? Number.NaN : report.items / report.batches;
}
