/** The options of the command. */
import {
  chosenFigures,
  type Effort,
  type Figure,
  FLAGS,
  parseFlags,
  validRounds,
  validSeconds,
} from '@batchwise/bench-harness';
import { LOCUST, NGINX, WRK } from './program.js';

export interface Command {
  readonly figures: readonly Figure[];
  readonly effort: Effort;
  readonly json: boolean;
  readonly help: boolean;
}

const DEFAULTS = { rounds: 5, seconds: 5 };
/** V8 still compiles during the first seconds, and Locust still imports. */
const WARMUP_MS = 3000;

export function helpText(figures: readonly Figure[]): string {
  const list = figures.map(({ name, title }) => `  ${name.padEnd(12)}${title}`).join('\n');
  return `The load generator, measured beside autocannon, Locust and wrk.

  npm run bench:load -- [options]

Options
  --only a,b         only these figures
  --rounds N         how often each contender runs (default ${DEFAULTS.rounds})
  --seconds N        how long it is timed each time (default ${DEFAULTS.seconds}), after a warm-up of ${WARMUP_MS / 1000} s
  --json             the raw numbers on stdout, the tables on stderr
  --help             this text

Figures
${list}

Programs
  nginx       needed: ${NGINX.install}
  wrk         its rows are left out without it: ${WRK.install}
  locust      its rows are left out without it:
              ${LOCUST.install}
`;
}

export function parseCommand(args: readonly string[], known: readonly Figure[]): Command {
  const values = parseFlags(args, { ...FLAGS, seconds: { type: 'string' } });
  return {
    figures: chosenFigures(values.only, known),
    effort: {
      rounds: validRounds(values.rounds, DEFAULTS.rounds),
      warmupMs: WARMUP_MS,
      timedMs: 1000 * validSeconds(values.seconds, DEFAULTS.seconds, 1),
    },
    json: values.json,
    help: values.help,
  };
}
