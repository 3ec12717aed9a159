/** `batchwise load knee`: the highest rate that meets a target. */
import { findKnee, kneeChart, kneeJson, kneeText, startRun } from '@batchwise/load';
import type { Command } from 'commander';
import { EXIT_CODES } from '../terminal/exit-codes.js';
import { UsageFailure } from '../terminal/failure.js';
import { checkFolderOf, writeNamedFile } from '../terminal/files.js';
import { positiveNumber, share, wholeNumber } from '../terminal/flag-values.js';
import { paletteFor } from '../terminal/palette.js';
import { ProgressBar } from '../terminal/progress-bar.js';
import type { Terminal } from '../terminal/terminal.js';
import { interruption } from './interruption.js';
import { addRequestFlags, MOST_PROCESSES, type RequestFlags, targetSpec } from './load-flags.js';
import { duration } from './load-values.js';

interface KneeFlags extends RequestFlags {
  readonly targetMs?: number;
  readonly share: number;
  readonly from: number;
  readonly to: number;
  readonly stepTime?: number;
  readonly seed: number;
  readonly processes: number;
  readonly json?: boolean;
  readonly svg?: string;
}

const EXAMPLES = `
Examples:
  $ batchwise load knee http://localhost:3000/classify --data @sample.json --target-ms 100
  $ batchwise load knee http://localhost:3000/classify --data @sample.json --target-ms 100 --svg knee.svg

Each rate is tried with Poisson arrivals. A request meets the target when its response is a success and comes within
the target time of its intended start.

Exit codes: 0 a rate was found, 3 no rate is known to meet the target, 1 something failed, 2 wrong flags.`;

const DEFAULT_STEP_SECONDS = 10;

export function setUpKnee(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  command
    .summary('find the highest rate that meets a target')
    .description('Finds the highest rate of requests that meets a target latency.')
    .argument('<url>', 'URL that requests are sent to');
  addRequestFlags(command)
    .optionsGroup('The search:')
    .option('--target-ms <ms>', 'target latency, needed', positiveNumber(1e8))
    .option('--share <share>', 'share of requests that must meet the target', share(1), 0.99)
    .option('--from <number>', 'lowest rate, per second', positiveNumber(1e6), 10)
    .option('--to <number>', 'highest rate, per second', positiveNumber(1e6), 100_000)
    .option('--step-time <time>', 'shortest time that a rate is tried for (default: 10s)', duration)
    .option('--seed <number>', 'seed of the arrivals', wholeNumber(0, Number.MAX_SAFE_INTEGER), 1)
    .option('--processes <count>', 'generator processes', wholeNumber(1, MOST_PROCESSES), 1)
    .optionsGroup('Output:')
    .option('--json', 'the result as JSON')
    .option('--svg <file>', 'a plot of latency and goodput against the rate')
    .helpOption('-h, --help', 'this text')
    .addHelpText('after', EXAMPLES)
    .action(async (url: string, flags: KneeFlags) => exit(await knee(url, flags, terminal)));
}

async function knee(url: string, flags: KneeFlags, terminal: Terminal): Promise<number> {
  const { targetMs, from, to, stepTime = DEFAULT_STEP_SECONDS, seed, processes } = flags;
  if (targetMs === undefined)
    throw new UsageFailure('--target-ms is needed. See batchwise load knee --help.');
  if (from >= to) throw new UsageFailure('--from must be less than --to.');
  if (flags.svg !== undefined) await checkFolderOf('--svg', flags.svg);
  const progress = new ProgressBar(terminal);
  const interrupt = interruption();
  try {
    const found = await findKnee({
      startRun,
      target: await targetSpec(url, flags),
      targetLatencyMs: targetMs,
      share: flags.share,
      secondsPerStep: stepTime,
      from,
      to,
      seed,
      processes,
      signal: interrupt.signal,
      onProgress: (step) => progress.show(step),
    });
    progress.clear();
    terminal.stdout.write(
      flags.json
        ? `${JSON.stringify(kneeJson(found), null, 2)}\n`
        : kneeText(found, paletteFor(terminal.stdout, terminal.env)),
    );
    if (flags.svg !== undefined) {
      await writeNamedFile('--svg', flags.svg, kneeChart(found));
      terminal.stderr.write(`Wrote ${flags.svg}\n`);
    }
    return found.rate === undefined ? EXIT_CODES.targetNotHeld : EXIT_CODES.ok;
  } finally {
    interrupt.stop();
    progress.clear();
  }
}
