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

const ROUNDS = 5;
const SECONDS = 3;
const MAX_WARMUP_MS = 1000;

export function helpText(figures: readonly Figure[]): string {
  const list = figures.map(({ name, title }) => `  ${name.padEnd(12)}${title}`).join('\n');
  return `The gRPC batching proxy, measured beside bare node:http2 and @grpc/grpc-js.

  npm run bench:proxy -- [options]

Options
  --only a,b         only these figures
  --rounds N         how often each contender runs (default ${ROUNDS})
  --seconds N        how long it is timed each time (default ${SECONDS}), after a warm-up of at most ${MAX_WARMUP_MS / 1000} s
  --json             the raw numbers on stdout, the tables on stderr
  --help             this text

Figures
${list}
`;
}

export function parseCommand(args: readonly string[], known: readonly Figure[]): Command {
  const values = parsedValues(args);
  const timedMs = 1000 * validNumber('--seconds', values.seconds ?? SECONDS, 0.1);
  return {
    figures: chosenOf(values.only, known),
    effort: {
      rounds: Math.trunc(validNumber('--rounds', values.rounds ?? ROUNDS, 1)),
      warmupMs: Math.min(MAX_WARMUP_MS, timedMs),
      timedMs,
    },
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
        seconds: { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false, short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

function chosenOf(text: string | undefined, known: readonly Figure[]): readonly Figure[] {
  if (text === undefined) return known;
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !known.some((figure) => figure.name === name));
  if (unknown !== undefined) {
    const expected = known.map(({ name }) => name).join(', ');
    throw new UsageError(`--only: expected some of ${expected}, got '${unknown}'.`);
  }
  return known.filter(({ name }) => names.includes(name));
}

function validNumber(flag: string, value: string | number, least: number): number {
  const number = Number(value);
  if (!(number >= least && number < Number.POSITIVE_INFINITY)) {
    throw new UsageError(`${flag}: expected a number of at least ${least}, got '${value}'.`);
  }
  return number;
}
