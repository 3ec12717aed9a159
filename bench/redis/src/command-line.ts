/** The options of the command. */
import { chosenFigures, chosenOf, FLAGS, parseFlags, timedEffort } from '@batchwise/bench-harness';
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

const DEFAULTS = { rounds: 5, seconds: 4 };
const CONTENDER_NAMES = [...Object.keys(CONTENDERS), DYNAMIC_BATCHER] as TrialName[];

export function helpText(figures: readonly Figure[]): string {
  const list = figures.map(({ name, title }) => `  ${name.padEnd(17)}${title}`).join('\n');
  return `Batching across processes on Redis, measured beside a careless spike, BullMQ and dynamic_batcher.

  npm run bench:redis -- [options]

Options
  --only a,b         only these figures
  --contenders a,b   only these of ${CONTENDER_NAMES.join(', ')}
  --rounds N         how often each contender runs (default ${DEFAULTS.rounds})
  --seconds N        how long it is timed each time (default ${DEFAULTS.seconds}), after a warm-up of at most 1 s
  --json             the raw numbers on stdout, the tables on stderr
  --help             this text

Figures
${list}

redis-server and redis-benchmark have to be on the PATH. dynamic_batcher is installed into node_modules/.cache
by pip where that is possible, and left out where it is not.
`;
}

export function parseCommand(args: readonly string[], known: readonly Figure[]): Command {
  const values = parseFlags(args, { ...FLAGS, contenders: { type: 'string' }, seconds: { type: 'string' } });
  return {
    figures: chosenFigures(values.only, known),
    effort: {
      ...timedEffort(values, DEFAULTS),
      contenders: chosenOf('--contenders', values.contenders, CONTENDER_NAMES),
    },
    json: values.json,
    help: values.help,
  };
}
