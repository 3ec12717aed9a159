/** `batchwise load knee`: the highest rate that meets a target. */
import { findKnee, kneeChart, kneeJson, kneeText, startRun } from '@batchwise/load';
import type { Command } from 'commander';
import { EXIT_CODES } from '../terminal/exit-codes.js';
import { UsageFailure } from '../terminal/failure.js';
import { checkFolderOf, writeNamedFile } from '../terminal/files.js';
import { positiveNumber, share, wholeNumber } from '../terminal/flag-values.js';
import { finishHelp, type HelpFooter } from '../terminal/help.js';
import { paletteFor } from '../terminal/palette.js';
import { ProgressBar } from '../terminal/progress-bar.js';
import type { Terminal } from '../terminal/terminal.js';
import { interruption } from './interruption.js';
import { addRequestFlags, MOST_PROCESSES, type RequestFlags, TARGET_FLAG, targetSpec } from './load-flags.js';
import { duration } from './load-values.js';

interface KneeFlags extends RequestFlags {
  readonly targetLatencyMs?: number;
  readonly share: number;
  readonly from: number;
  readonly to: number;
  readonly stepTime?: number;
  readonly seed: number;
  readonly processes: number;
  readonly json?: boolean;
  readonly svg?: string;
}

const FOOTER: HelpFooter = {
  examples: [
    'batchwise load knee http://localhost:3000/classify --data @sample.json --target-latency-ms 100',
  ],
  notes: [
    'The search sends Poisson arrivals at each rate. A request meets the target if its response is successful and ' +
      'arrives within the target of its intended start.',
  ],
  exitCodes: { 0: 'a rate was found', 1: 'failed', 3: 'no rate is known to meet the target' },
};

const DEFAULT_STEP_SECONDS = 10;

export function setUpKnee(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  command
    .summary('find the highest rate that meets a target')
    .description('Finds the highest request rate that meets a target latency.')
    .argument('<url>', 'URL of the target');
  addRequestFlags(command)
    .optionsGroup('Search:')
    .option(TARGET_FLAG, 'target latency; required', positiveNumber(1e8))
    .option('--share <share>', 'share of requests that must meet the target', share(1), 0.99)
    .option('--from <number>', 'lowest rate, per second', positiveNumber(1e6), 10)
    .option('--to <number>', 'highest rate, per second', positiveNumber(1e6), 100_000)
    .option('--step-time <time>', 'minimum duration of each rate (default: 10s)', duration)
    .option('--seed <number>', 'seed of the arrivals', wholeNumber(0, Number.MAX_SAFE_INTEGER), 1)
    .option('--processes <count>', 'generator processes', wholeNumber(1, MOST_PROCESSES), 1)
    .optionsGroup('Output:')
    .option('--json', 'print JSON')
    .option('--svg <file>', 'write a plot of latency and goodput against the rate');
  finishHelp(command, FOOTER).action(async (url: string, flags: KneeFlags) =>
    exit(await knee(url, flags, terminal)),
  );
}

async function knee(url: string, flags: KneeFlags, terminal: Terminal): Promise<number> {
  const { targetLatencyMs, from, to, stepTime = DEFAULT_STEP_SECONDS, seed, processes } = flags;
  if (targetLatencyMs === undefined)
    throw new UsageFailure('--target-latency-ms is required. See batchwise load knee --help.');
  if (from >= to) throw new UsageFailure('--from must be less than --to.');
  if (flags.svg !== undefined) await checkFolderOf('--svg', flags.svg);
  const progress = new ProgressBar(terminal);
  const interrupt = interruption();
  try {
    const found = await findKnee({
      startRun,
      target: await targetSpec(url, flags),
      targetLatencyMs,
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
    return found.rate === undefined ? EXIT_CODES.targetNotMet : EXIT_CODES.ok;
  } finally {
    interrupt.stop();
    progress.clear();
  }
}
