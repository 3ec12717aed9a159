/** `batchwise plan`: reads what the flags name, has the plan made, and shows it. */
import {
  type Curve,
  LONGEST_TRACE,
  MOST_NOISE,
  MOST_PER_SECOND,
  MOST_SLOTS,
  makePlan,
  parseTrace,
  planChart,
  planJson,
  planText,
  type Traffic,
} from '@batchwise/arena';
import { type Command, Option } from 'commander';
import { EXIT_CODES } from '../terminal/exit-codes.js';
import { Failure, UsageFailure } from '../terminal/failure.js';
import { readNamedFile, writeNamedFile } from '../terminal/files.js';
import { positiveNumber, share, wholeNumber } from '../terminal/flag-values.js';
import { paletteFor } from '../terminal/palette.js';
import { ProgressBar } from '../terminal/progress-bar.js';
import type { Terminal } from '../terminal/terminal.js';
import { type CurveInput, readCurve } from './curve-input.js';
import { probeModule } from './probe-module.js';

export interface PlanFlags {
  readonly curve?: string;
  readonly probe?: string;
  readonly rate?: number;
  readonly trace?: string;
  readonly targetMs?: number;
  readonly slots?: number;
  readonly maxBatchSize?: number;
  readonly noise?: number;
  readonly prefer: 'latency' | 'efficiency';
  readonly seed: number;
  readonly json?: boolean;
  readonly svg?: string;
  readonly saveCurve?: string;
  readonly probeSeconds: number;
}

const LARGEST_BATCH = 65_536;
const LONGEST_MS = 1e8;

const EXAMPLES = `
Examples:
  $ batchwise plan --curve curve.json --rate 800 --target-ms 50
  $ batchwise plan --curve curve.json --trace requests.csv --target-ms 50 --svg plan.svg
  $ batchwise plan --probe model.onnx --rate 800 --target-ms 50
  $ batchwise plan --probe ./handler.ts --rate 800 --target-ms 50 --save-curve curve.json
  $ batchwise plan --curve curve.json --rate 800 --target-ms 50 --slots 2 --json

A curve is how long batches take, by size: {"1": 5.1, "8": 5.8, "64": 11.4}, in milliseconds.
A trace has the time of one request a line, in milliseconds, rising.
A module to probe exports handler, (items) => results, and sample, an item or a function that makes one.

Exit codes: 0 the target is held, 3 it is not, 1 something failed, 2 wrong flags.`;

export function setUpPlan(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  command
    .description(
      'Answers which settings to use for a backend and a target, what latency to expect, the largest rate\n' +
        'that holds the target, and how many slots a rate needs. Everything is simulated with the production\n' +
        'batcher.',
    )
    .optionsGroup('The backend, one of:')
    .option('--curve <file>', 'how long batches take, by size (JSON)')
    .addOption(
      new Option(
        '--probe <file>',
        'measure it: a model (.onnx), or a .ts or .js module with handler and sample',
      ).conflicts('curve'),
    )
    .optionsGroup('The traffic, one of:')
    .option('--rate <number>', 'requests a second', positiveNumber(MOST_PER_SECOND))
    .addOption(new Option('--trace <file>', 'times of requests in ms, one a line').conflicts('rate'))
    .optionsGroup('What is wanted:')
    .option('--target-ms <ms>', 'target for the total latency of a request', positiveNumber(LONGEST_MS))
    .addOption(
      new Option('--prefer <what>', 'quick answers, or a backend that is spared')
        .choices(['latency', 'efficiency'])
        .default('latency'),
    )
    .optionsGroup('What is given:')
    .option(
      '--slots <count>',
      'batches that run at a time (default: as few as hold the target)',
      wholeNumber(1, MOST_SLOTS),
    )
    .option(
      '--max-batch-size <count>',
      'the largest batch allowed (default: the largest of the curve; 64 with --probe)',
      wholeNumber(1, LARGEST_BATCH),
    )
    .option(
      '--noise <share>',
      'spread of batch durations, 0.05 or 5% (default: as measured, else 0)',
      share(MOST_NOISE),
    )
    .option('--seed <number>', 'of the simulated randomness', wholeNumber(0, Number.MAX_SAFE_INTEGER), 1)
    .optionsGroup('Probing:')
    .option('--probe-seconds <number>', 'how long to measure', positiveNumber(3600), 10)
    .addOption(new Option('--save-curve <file>', 'keep what was measured, for --curve').conflicts('curve'))
    .optionsGroup('Output:')
    .option('--json', 'the plan as JSON')
    .option('--svg <file>', 'a picture of latency against load')
    .helpOption('-h, --help', 'this text')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: PlanFlags) => exit(await plan(flags, terminal)));
}

async function plan(flags: PlanFlags, terminal: Terminal): Promise<number> {
  const { slots, maxBatchSize, prefer, seed, json, svg } = flags;
  const progress = new ProgressBar(terminal);
  const note = (text: string) => {
    progress.clear();
    terminal.stderr.write(`note: ${text}\n`);
  };
  const targetMs = required(flags.targetMs, '--target-ms');
  required(flags.curve ?? flags.probe, 'one of --curve and --probe');
  required(flags.rate ?? flags.trace, 'one of --rate and --trace');
  try {
    const traffic = await readTraffic(flags, note);
    const { curve, noise } = await readBackend({ ...flags, targetMs }, terminal, progress, note);
    if (flags.curve !== undefined) noteOnSize(curve, maxBatchSize, note);
    const made = await makePlan({
      curve,
      traffic,
      targetMs,
      slots,
      maxBatchSize,
      noise: flags.noise ?? noise,
      prefer,
      seed,
      onProgress: (step) => progress.show(step),
    });
    progress.clear();
    const text = json
      ? `${JSON.stringify(planJson(made), null, 2)}\n`
      : planText(made, paletteFor(terminal.stdout, terminal.env));
    terminal.stdout.write(text);
    if (svg !== undefined) {
      const picture = planChart(made);
      if (picture === undefined) note(`${svg} is not written: there is no rate that holds the target.`);
      else await writeNamedFile('--svg', svg, picture);
    }
    return made.verdict.kind === 'holds' ? EXIT_CODES.ok : EXIT_CODES.targetNotHeld;
  } finally {
    progress.clear();
  }
}

async function readTraffic({ rate, trace }: PlanFlags, note: (text: string) => void): Promise<Traffic> {
  if (trace === undefined) return { kind: 'rate', perSecond: rate as number };
  const { timesMs, traits } = parseTrace(await readNamedFile('--trace', trace), trace);
  if (timesMs[0] === timesMs.at(-1))
    throw new Failure(`--trace: ${trace} must have at least two requests at different times.`);
  if (traits !== undefined) note(`of ${trace} only the times are used: in a plan all requests are alike.`);
  if (timesMs.length > LONGEST_TRACE)
    note(`${trace} is long: its busiest ${LONGEST_TRACE.toLocaleString('en')} requests are used.`);
  return { kind: 'trace', timesMs };
}

async function readBackend(
  flags: PlanFlags & { readonly targetMs: number },
  terminal: Terminal,
  progress: ProgressBar,
  note: (text: string) => void,
): Promise<CurveInput> {
  if (flags.probe === undefined) return readCurve(flags.curve as string, flags.maxBatchSize);
  return probeModule({ ...flags, probe: flags.probe }, terminal, progress, note);
}

function noteOnSize(curve: Curve, maxBatchSize: number | undefined, note: (text: string) => void): void {
  if (maxBatchSize === undefined || maxBatchSize <= curve.maxBatchSize) return;
  note(`the curve ends at batches of ${curve.maxBatchSize}: larger ones are not planned with.`);
}

/** Not left to commander, which would complain of what is missing before what is mistyped. */
function required<T>(value: T | undefined, flags: string): T {
  if (value !== undefined) return value;
  throw new UsageFailure(`${flags} is needed. See batchwise plan --help.`);
}
