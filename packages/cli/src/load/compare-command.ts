/** `batchwise load compare`: sends the same arrivals to two targets in turn and compares the results. */
import { compare, compareChart, compareJson, compareText, startRun } from '@batchwise/load';
import type { Command } from 'commander';
import { EXIT_CODES } from '../terminal/exit-codes.js';
import { checkFolderOf, writeNamedFile } from '../terminal/files.js';
import { positiveNumber, wholeNumber } from '../terminal/flag-values.js';
import { finishHelp, type HelpFooter } from '../terminal/help.js';
import { paletteFor } from '../terminal/palette.js';
import { ProgressBar } from '../terminal/progress-bar.js';
import type { Terminal } from '../terminal/terminal.js';
import { interruption } from './interruption.js';
import { addRequestFlags, type RequestFlags, TARGET_FLAG, targetSpec } from './load-flags.js';
import { duration } from './load-values.js';

interface CompareFlags extends RequestFlags {
  readonly rate: number;
  readonly pairs: number;
  readonly blockTime?: number;
  readonly targetLatencyMs?: number;
  readonly seed: number;
  readonly json?: boolean;
  readonly svg?: string;
}

const FOOTER: HelpFooter = {
  examples: ['batchwise load compare http://localhost:3000/x http://localhost:3001/x --rate 200'],
  notes: [
    'Both targets get the same arrivals, in blocks that alternate in random order. A difference is reported if it is ' +
      'statistically significant: the comparison of a target with itself reports one in at most 5 % of comparisons.',
  ],
  exitCodes: { 0: 'done', 1: 'failed' },
};

const DEFAULT_BLOCK_SECONDS = 10;

export function setUpCompare(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  command
    .summary('compare two targets with the same arrivals')
    .description(
      'Sends the same arrivals to two targets in turn, and reports the differences with confidence intervals.',
    )
    .argument('<url-a>', 'the first target')
    .argument('<url-b>', 'the second target');
  addRequestFlags(command)
    .optionsGroup('Comparison:')
    .option('--rate <number>', 'Poisson arrivals per second', positiveNumber(1e6), 100)
    .option('--pairs <count>', 'blocks for each target', wholeNumber(6, 10_000), 12)
    .option('--block-time <time>', 'length of a block (default: 10s)', duration)
    .option(TARGET_FLAG, 'also compare the share of responses within this latency', positiveNumber(1e8))
    .option(
      '--seed <number>',
      'seed of the arrivals and of the order of blocks',
      wholeNumber(0, Number.MAX_SAFE_INTEGER),
      1,
    )
    .optionsGroup('Output:')
    .option('--json', 'print JSON')
    .option('--svg <file>', 'write a plot of the differences');
  finishHelp(command, FOOTER).action(async (a: string, b: string, flags: CompareFlags) =>
    exit(await comparison(a, b, flags, terminal)),
  );
}

async function comparison(a: string, b: string, flags: CompareFlags, terminal: Terminal): Promise<number> {
  const { rate, pairs, blockTime = DEFAULT_BLOCK_SECONDS, targetLatencyMs, seed } = flags;
  if (flags.svg !== undefined) await checkFolderOf('--svg', flags.svg);
  const progress = new ProgressBar(terminal);
  const interrupt = interruption();
  try {
    const result = await compare({
      startRun,
      a: await targetSpec(a, flags),
      b: await targetSpec(b, flags),
      arrivals: { kind: 'poisson', perSecond: rate },
      pairs,
      secondsPerBlock: blockTime,
      ...(targetLatencyMs !== undefined && { targetLatencyMs }),
      seed,
      signal: interrupt.signal,
      onProgress: (step) => progress.show(step),
    });
    progress.clear();
    terminal.stdout.write(
      flags.json
        ? `${JSON.stringify(compareJson(result), null, 2)}\n`
        : compareText(result, paletteFor(terminal.stdout, terminal.env)),
    );
    if (flags.svg !== undefined) {
      await writeNamedFile('--svg', flags.svg, compareChart(result));
      terminal.stderr.write(`Wrote ${flags.svg}\n`);
    }
    return EXIT_CODES.ok;
  } finally {
    interrupt.stop();
    progress.clear();
  }
}
