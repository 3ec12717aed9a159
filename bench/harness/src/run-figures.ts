/** A benchmark that is nothing but figures: its options, its help and its report. */
import { chosenFigures, FLAGS, parseFlags, timedEffort, validRounds, validSeconds } from './command-line.js';
import type { Figure } from './figure.js';
import { jsonOf, textOf } from './report.js';
import { aboutRun, measureAll, runCommand, writeReport } from './run-command.js';

export interface FiguresCommand {
  /** What is measured, in a sentence. */
  readonly about: string;
  /** As npm knows it: `bench:proxy`. */
  readonly script: string;
  readonly figures: readonly Figure[];
  readonly rounds: number;
  readonly seconds: number;
  /** @default the time that is measured, at most a second */
  readonly warmupMs?: number;
  /** More lines for the help. */
  readonly notes?: string;
}

export function runFigures(command: FiguresCommand): Promise<void> {
  const { figures, rounds, seconds, warmupMs } = command;
  return runCommand(async (args) => {
    const values = parseFlags(args, { ...FLAGS, seconds: { type: 'string' } });
    if (values.help) {
      process.stdout.write(helpText(command));
      return;
    }
    const effort =
      warmupMs === undefined
        ? timedEffort(values, { rounds, seconds })
        : {
            rounds: validRounds(values.rounds, rounds),
            warmupMs,
            timedMs: 1000 * validSeconds(values.seconds, seconds, 1),
          };
    const { measured, tookSeconds } = await measureAll(chosenFigures(values.only, figures), effort);
    const { about, text } = aboutRun(effort, tookSeconds);
    writeReport(`${textOf(measured)}\n\n${text}`, values.json ? jsonOf(measured, about) : undefined);
  });
}

function helpText({ about, script, figures, rounds, seconds, warmupMs, notes }: FiguresCommand): string {
  const width = Math.max(...figures.map(({ name }) => name.length)) + 2;
  const list = figures.map(({ name, title }) => `  ${name.padEnd(width)}${title}`).join('\n');
  const warmup = warmupMs === undefined ? 'at most 1 s' : `${warmupMs / 1000} s`;
  return `${about}

  npm run ${script} -- [options]

Options
  --only a,b         only these figures
  --rounds N         how often each contender runs (default ${rounds})
  --seconds N        how long it is timed each time (default ${seconds}), after a warm-up of ${warmup}
  --json             the raw numbers on stdout, the tables on stderr
  --help             this text

Figures
${list}
${notes === undefined ? '' : `\n${notes}\n`}`;
}
