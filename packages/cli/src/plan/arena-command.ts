/** `batchwise arena`: simulates policies and prints or saves the reports. */
import { resolve } from 'node:path';
import {
  type ArenaReport,
  ablationJson,
  ablationText,
  arenaJson,
  arenaPage,
  arenaText,
  harmJson,
  harmText,
  missedLimits,
  pageFacts,
  runAblation,
  runArena,
  runHarm,
  runScenario,
  runShowcase,
  scenarioJson,
  scenarioText,
  TARGET_NUMBERS,
  targetFigures,
} from '@batchwise/arena';
import { type Command, Option } from 'commander';
import { EXIT_CODES } from '../terminal/exit-codes.js';
import { errorLine, UsageFailure } from '../terminal/failure.js';
import { readNamedFile, writeNamedFile } from '../terminal/files.js';
import { wholeNumber } from '../terminal/flag-values.js';
import { finishHelp, type HelpFooter } from '../terminal/help.js';
import { paletteFor } from '../terminal/palette.js';
import { ProgressBar } from '../terminal/progress-bar.js';
import type { Terminal } from '../terminal/terminal.js';
import { progressOf } from './arena-progress.js';

export interface ArenaFlags {
  readonly scenario?: string;
  readonly json?: boolean;
  readonly html?: string;
  readonly quick?: boolean;
  readonly ablate?: boolean;
  readonly harm?: boolean;
  readonly seeds?: number;
  readonly check?: boolean;
  readonly target?: number;
  readonly seed?: number;
  readonly workers?: number;
}

const FOOTER: HelpFooter = {
  examples: [
    'batchwise arena --quick',
    'batchwise arena --html arena.html',
    'batchwise arena --ablate --quick',
    'batchwise arena --scenario mine.json --json',
  ],
  exitCodes: { 0: 'done', 1: 'failed, or with --check a figure exceeds its limit' },
};

/** Flags of the grid only: a scenario and the ablation have their own seeds, and no goals. */
const TARGET_FLAGS = ['check', 'target', 'seed', 'html'];
/** Factor of the length of the runs for the plots. */
const PLOT_EFFORT = { full: 2, quick: 0.4 };
const LARGEST_SEED = 2 ** 32 - 1000;
const MAX_WORKERS = 256;
const MAX_SCENARIOS = 1_000_000;
const DEFAULT_SCENARIOS = 100;

export function setUpArena(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  command
    .description(
      'Compares the batching policies of Batchwise with those of other systems and with theoretical bounds, in ' +
        'simulations with the same traffic.',
    )
    .optionsGroup('Runs:')
    .option('--quick', 'run a representative part of the grid, in about a minute')
    .option(
      '--target <number>',
      'run only the cells of one target',
      wholeNumber(1, Math.max(...TARGET_NUMBERS)),
    )
    .option('--seed <number>', 'first seed (default: 101; 1 with --harm)', wholeNumber(0, LARGEST_SEED))
    .addOption(
      new Option('--scenario <file>', 'run a scenario file (JSON) instead of the grid').conflicts([
        ...TARGET_FLAGS,
        'quick',
        'ablate',
        'harm',
      ]),
    )
    .addOption(
      new Option('--ablate', 'measure the adaptive policy without each of its rules').conflicts([
        ...TARGET_FLAGS,
        'harm',
      ]),
    )
    .addOption(
      new Option('--harm', 'compare the adaptive policy with the greedy one in random scenarios').conflicts([
        'quick',
        'target',
        'html',
      ]),
    )
    .option('--seeds <count>', 'number of random scenarios (default: 100)', wholeNumber(1, MAX_SCENARIOS))
    .option(
      '--workers <count>',
      'worker threads, 0 for none (default: one per processor)',
      wholeNumber(0, MAX_WORKERS),
    )
    .optionsGroup('Output:')
    .option('--json', 'print JSON')
    .option('--html <file>', 'write one HTML page with plots')
    .option('--check', 'exit with 1 if a figure exceeds its limit');
  finishHelp(command, FOOTER).action(async (flags: ArenaFlags) => exit(await arena(flags, terminal)));
}

async function arena(flags: ArenaFlags, terminal: Terminal): Promise<number> {
  const progress = new ProgressBar(terminal);
  try {
    if (flags.scenario !== undefined) return await scenario(flags.scenario, flags, terminal, progress);
    if (flags.ablate) return await ablation(flags, terminal, progress);
    if (flags.harm) return await harm(flags, terminal, progress);
    return await grid(flags, terminal, progress);
  } finally {
    progress.clear();
  }
}

async function scenario(
  path: string,
  { json, workers }: ArenaFlags,
  terminal: Terminal,
  progress: ProgressBar,
): Promise<number> {
  // Only for the error if the file does not exist.
  await readNamedFile('--scenario', path);
  const report = await runScenario(resolve(path), { workers, onProgress: progressOf(progress, 'runs') });
  progress.clear();
  terminal.stdout.write(
    json ? text(scenarioJson(report)) : scenarioText(report, paletteFor(terminal.stdout, terminal.env)),
  );
  return EXIT_CODES.ok;
}

async function ablation(
  { quick, json, workers }: ArenaFlags,
  terminal: Terminal,
  progress: ProgressBar,
): Promise<number> {
  const extent = quick ? 'quick' : 'full';
  const report = await runAblation({ extent, workers, onProgress: progressOf(progress, 'runs') });
  progress.clear();
  terminal.stdout.write(
    json ? text(ablationJson(report)) : ablationText(report, paletteFor(terminal.stdout, terminal.env)),
  );
  return EXIT_CODES.ok;
}

async function harm(
  { seed, seeds = DEFAULT_SCENARIOS, json, workers, check }: ArenaFlags,
  terminal: Terminal,
  progress: ProgressBar,
): Promise<number> {
  const onProgress = progressOf(progress, 'scenarios');
  const results = await runHarm({ count: seeds, firstSeed: seed, workers, onProgress });
  progress.clear();
  terminal.stdout.write(
    json ? text(harmJson(results)) : harmText(results, paletteFor(terminal.stdout, terminal.env)),
  );
  return check && results.some(({ isHarmed }) => isHarmed) ? EXIT_CODES.failed : EXIT_CODES.ok;
}

async function grid(flags: ArenaFlags, terminal: Terminal, progress: ProgressBar): Promise<number> {
  const { quick, seed, target, workers, json, html, check } = flags;
  if (target !== undefined && !TARGET_NUMBERS.includes(target)) {
    throw new UsageFailure(
      `--target: ${target} is not simulated. Expected one of ${TARGET_NUMBERS.join(', ')}; 8 is measured by npm run bench:core.`,
    );
  }
  const report = await runArena({
    extent: quick ? 'quick' : 'full',
    firstSeed: seed,
    targets: target === undefined ? undefined : [target],
    workers,
    onProgress: progressOf(progress, 'cells'),
  });
  if (html !== undefined) await writePage(html, report, workers, progress);
  progress.clear();
  terminal.stdout.write(
    json ? text(arenaJson(report)) : arenaText(report, paletteFor(terminal.stdout, terminal.env)),
  );
  const missed = check ? missedLimits(report) : [];
  for (const line of missed) terminal.stderr.write(errorLine(line, terminal));
  return missed.length === 0 ? EXIT_CODES.ok : EXIT_CODES.failed;
}

async function writePage(
  path: string,
  report: ArenaReport,
  workers: number | undefined,
  progress: ProgressBar,
): Promise<void> {
  const showcase = await runShowcase({
    effort: PLOT_EFFORT[report.extent],
    seed: report.firstSeed,
    workers,
    onProgress: progressOf(progress, 'plots'),
  });
  const targets = targetFigures(report);
  const { families } = report;
  await writeNamedFile('--html', path, arenaPage({ targets, families, showcase, facts: pageFacts(report) }));
}

function text(json: Record<string, unknown>): string {
  return `${JSON.stringify(json, null, 2)}\n`;
}
