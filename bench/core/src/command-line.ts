/** The options of the command. */
import { parseArgs } from 'node:util';
import type { Effort, Figure } from './figure.js';

export interface Command {
  readonly figures: readonly Figure[];
  readonly effort: Effort;
  readonly json: boolean;
  readonly help: boolean;
}

export class UsageError extends Error {}

const FULL: Effort = { rounds: 5, warmupMs: 300, timedMs: 1000, maxQueued: 1_000_000 };
const QUICK: Effort = { rounds: 2, warmupMs: 200, timedMs: 300, maxQueued: 100_000 };

export function helpText(figures: readonly Figure[]): string {
  const list = figures.map(({ name, title }) => `  ${name.padEnd(12)}${title}`).join('\n');
  return `What batching costs, measured against peers and lower bounds, side by side in one run.

  npm run bench:core -- [options]

Options
  --only a,b    only these figures
  --rounds N    how often each contender runs (default ${FULL.rounds}, with --quick ${QUICK.rounds})
  --quick       fewer and shorter rounds and shallower queues: a look, not a measurement
  --json        the raw numbers on stdout, the table on stderr
  --help        this text

Figures
${list}
`;
}

export function parseCommand(args: readonly string[], known: readonly Figure[]): Command {
  const values = parsedValues(args);
  const effort = values.quick ? QUICK : FULL;
  return {
    figures: values.only === undefined ? known : chosenFigures(values.only, known),
    effort: values.rounds === undefined ? effort : { ...effort, rounds: validRounds(values.rounds) },
    json: values.json,
    help: values.help,
  };
}

function parsedValues(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        only: { type: 'string' },
        rounds: { type: 'string' },
        quick: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false, short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

function chosenFigures(only: string, known: readonly Figure[]): Figure[] {
  const names = only.split(',').map((name) => name.trim());
  for (const name of names) {
    if (!known.some((figure) => figure.name === name)) {
      const list = known.map((figure) => figure.name).join(', ');
      throw new UsageError(`--only: expected some of ${list}, got '${name}'.`);
    }
  }
  return known.filter((figure) => names.includes(figure.name));
}

function validRounds(text: string): number {
  const rounds = Number(text);
  if (!Number.isInteger(rounds) || rounds < 1) {
    throw new UsageError(`--rounds: expected a whole number of at least 1, got '${text}'.`);
  }
  return rounds;
}
