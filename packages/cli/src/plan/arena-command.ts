/** `batchwise arena`: has the policies run side by side, and shows what they come to. */
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
import { UsageFailure } from '../terminal/failure.js';
import { readNamedFile, writeNamedFile } from '../terminal/files.js';
import { wholeNumber } from '../terminal/flag-values.js';
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

const EXAMPLES = `
Examples:
  $ batchwise arena --quick
  $ batchwise arena --target 4
  $ batchwise arena --html arena.html
  $ batchwise arena --ablate --quick
  $ batchwise arena --scenario mine.json --json

Exit codes: 0 done, 1 something failed, or with --check a figure is worse than it may be, 2 wrong flags.`;

/** Those of the targets: a scenario and the ablation have their own seeds, and no goals. */
const TARGET_FLAGS = ['check', 'target', 'seed', 'html'];
/** The runs behind the plots, as a multiple of what is needed for smooth lines. */
const PLOT_EFFORT = { full: 2, quick: 0.4 };
const LARGEST_SEED = 2 ** 32 - 1000;
const MOST_WORKERS = 256;
const MOST_SCENARIOS = 1_000_000;
const USUAL_SCENARIOS = 100;

export function setUpArena(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  command
    .description(
      'Runs the batching policies, ours and those of others, through the same simulated traffic, and compares ' +
        'them with what is possible at best.',
    )
    .optionsGroup('What to run:')
    .option('--quick', 'a representative slice of the grid, in about a minute')
    .option('--target <number>', 'the cells of one target only', wholeNumber(1, 9))
    .option('--seed <number>', 'the first of the seeds (default: 101)', wholeNumber(0, LARGEST_SEED))
    .addOption(
      new Option('--scenario <file>', 'a scenario of your own (JSON), instead of the grid').conflicts([
        ...TARGET_FLAGS,
        'quick',
        'ablate',
        'harm',
      ]),
    )
    .addOption(
      new Option('--ablate', 'removes the rules of the adaptive policy one at a time').conflicts([
        ...TARGET_FLAGS,
        'harm',
      ]),
    )
    .addOption(
      new Option('--harm', 'random scenarios: is adaptive ever worse than greedy?').conflicts([
        'quick',
        'target',
        'html',
      ]),
    )
    .option('--seeds <count>', 'how many random scenarios (default: 100)', wholeNumber(1, MOST_SCENARIOS))
    .option(
      '--workers <count>',
      'threads, 0 for none of their own (default: one for each processor)',
      wholeNumber(0, MOST_WORKERS),
    )
    .optionsGroup('Output:')
    .option('--json', 'the results as JSON')
    .option('--html <file>', 'a page with plots, in one file')
    .option('--check', 'exit with 1 when a figure is worse than it may be')
    .helpOption('-h, --help', 'this text')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: ArenaFlags) => exit(await arena(flags, terminal)));
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
  // Only to say so when there is none: what is wrong with its content is told with the place.
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
  { seed, seeds = USUAL_SCENARIOS, json, workers, check }: ArenaFlags,
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
      `--target: ${target} is not measured here. Expected one of ${TARGET_NUMBERS.join(', ')}; 8 is measured by npm run bench:core.`,
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
  for (const line of missed) terminal.stderr.write(`error: ${line}\n`);
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
