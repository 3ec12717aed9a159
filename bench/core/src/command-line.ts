/** The options of the command. */
import { chosenFigures, FLAGS, parseFlags, validRounds } from '@batchwise/bench-harness';
import type { Effort, Figure } from './figure.js';

export interface Command {
  readonly figures: readonly Figure[];
  readonly effort: Effort;
  readonly json: boolean;
  readonly help: boolean;
}

const FULL: Effort = { rounds: 5, warmupMs: 300, timedMs: 1000, maxQueued: 1_000_000 };
const QUICK: Effort = { rounds: 2, warmupMs: 200, timedMs: 300, maxQueued: 100_000 };

export function helpText(figures: readonly Figure[]): string {
  const list = figures.map(({ name, title }) => `  ${name.padEnd(12)}${title}`).join('\n');
  return `Measures the overhead of batching against peers and lower bounds, side by side in one run.

  npm run bench:core -- [options]

Options
  --only a,b    run only these figures
  --rounds N    runs of each contender (default ${FULL.rounds}, with --quick ${QUICK.rounds})
  --quick       fewer and shorter rounds and shorter queues: for a first impression, not a measurement
  --json        raw numbers on stdout, the table on stderr
  --help        show this text

Figures
${list}
`;
}

export function parseCommand(args: readonly string[], known: readonly Figure[]): Command {
  const values = parseFlags(args, { ...FLAGS, quick: { type: 'boolean', default: false } });
  const effort = values.quick ? QUICK : FULL;
  return {
    figures: chosenFigures(values.only, known),
    effort: { ...effort, rounds: validRounds(values.rounds, effort.rounds) },
    json: values.json,
    help: values.help,
  };
}
