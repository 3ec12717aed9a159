/** The options of the command. */
import {
  chosenFigures,
  type Effort,
  type Figure,
  FLAGS,
  parseFlags,
  timedEffort,
} from '@batchwise/bench-harness';

export interface Command {
  readonly figures: readonly Figure[];
  readonly effort: Effort;
  readonly json: boolean;
  readonly help: boolean;
}

const DEFAULTS = { rounds: 5, seconds: 3 };

export function helpText(figures: readonly Figure[]): string {
  const list = figures.map(({ name, title }) => `  ${name.padEnd(16)}${title}`).join('\n');
  return `The ready-made batchers, beside one call per item on the same service.

  npm run bench:integrations -- [options]

Options
  --only a,b         only these figures
  --rounds N         how often each contender runs (default ${DEFAULTS.rounds})
  --seconds N        how long it is timed each time (default ${DEFAULTS.seconds}), after a warm-up of at most 1 s
  --json             the raw numbers on stdout, the tables on stderr
  --help             this text

Figures
${list}
`;
}

export function parseCommand(args: readonly string[], known: readonly Figure[]): Command {
  const values = parseFlags(args, { ...FLAGS, seconds: { type: 'string' } });
  return {
    figures: chosenFigures(values.only, known),
    effort: timedEffort(values, DEFAULTS),
    json: values.json,
    help: values.help,
  };
}
