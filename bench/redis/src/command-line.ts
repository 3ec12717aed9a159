/** The options of the command. */
import { parseArgs } from 'node:util';
import { CONTENDERS } from './contenders.js';
import { DYNAMIC_BATCHER } from './dynamic-batcher.js';
import type { Effort, Figure } from './figure.js';
import type { TrialName } from './trial.js';

export interface Command {
  readonly figures: readonly Figure[];
  readonly effort: Effort;
  readonly json: boolean;
  readonly help: boolean;
}

export class UsageError extends Error {}

const ROUNDS = 5;
const SECONDS = 4;
const MAX_WARMUP_MS = 1000;
const CONTENDER_NAMES = [...Object.keys(CONTENDERS), DYNAMIC_BATCHER] as TrialName[];

export function helpText(figures: readonly Figure[]): string {
  const list = figures.map(({ name, title }) => `  ${name.padEnd(17)}${title}`).join('\n');
  return `Batching across processes on Redis, measured beside a careless spike, BullMQ and dynamic_batcher.

  npm run bench:redis -- [options]

Options
  --only a,b         only these figures
  --contenders a,b   only these of ${CONTENDER_NAMES.join(', ')}
  --rounds N         how often each contender runs (default ${ROUNDS})
  --seconds N        how long it is timed each time (default ${SECONDS}), after a warm-up of at most ${MAX_WARMUP_MS / 1000} s
  --json             the raw numbers on stdout, the tables on stderr
  --help             this text

Figures
${list}

redis-server and redis-benchmark have to be on the PATH. dynamic_batcher is installed into node_modules/.cache
by pip where that is possible, and left out where it is not.
`;
}

export function parseCommand(args: readonly string[], known: readonly Figure[]): Command {
  const values = parsedValues(args);
  const timedMs = 1000 * validNumber('--seconds', values.seconds ?? SECONDS, 0.1);
  const names = known.map(({ name }) => name);
  const chosen = chosenOf('--only', values.only, names);
  return {
    figures: known.filter(({ name }) => chosen.includes(name)),
    effort: {
      rounds: Math.trunc(validNumber('--rounds', values.rounds ?? ROUNDS, 1)),
      warmupMs: Math.min(MAX_WARMUP_MS, timedMs),
      timedMs,
      contenders: chosenOf('--contenders', values.contenders, CONTENDER_NAMES),
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
        contenders: { type: 'string' },
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

function chosenOf<Name extends string>(
  flag: string,
  text: string | undefined,
  known: readonly Name[],
): readonly Name[] {
  if (text === undefined) return known;
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !known.some((other) => other === name));
  if (unknown !== undefined) {
    throw new UsageError(`${flag}: expected some of ${known.join(', ')}, got '${unknown}'.`);
  }
  return known.filter((name) => names.includes(name));
}

function validNumber(flag: string, value: string | number, least: number): number {
  const number = Number(value);
  if (!(number >= least && number < Number.POSITIVE_INFINITY)) {
    throw new UsageError(`${flag}: expected a number of at least ${least}, got '${value}'.`);
  }
  return number;
}
