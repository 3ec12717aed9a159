/** `batchwise plan`: reads the input, makes the plan and prints it. */
import {
  type Curve,
  LONGEST_TRACE,
  MAX_NOISE,
  MAX_PER_SECOND,
  MAX_SLOTS,
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
import { finishHelp, type HelpFooter } from '../terminal/help.js';
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
  readonly targetLatencyMs?: number;
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

const FOOTER: HelpFooter = {
  examples: [
    'batchwise plan --curve curve.json --rate 800 --target-latency-ms 50',
    'batchwise plan --curve curve.json --trace requests.csv --target-latency-ms 50',
    'batchwise plan --probe model.onnx --rate 800 --target-latency-ms 50',
    'batchwise plan --probe ./handler.ts --rate 800 --target-latency-ms 50 --slots 2',
  ],
  notes: [
    'A curve is the duration of batches by size, in milliseconds: {"1":5.1,"8":5.8,"64":11.4}. A trace has the ' +
      'arrival time of one request per line, in milliseconds, in ascending order. A module to probe exports handler, ' +
      '(items) => results, and sample, an item or a function that returns one.',
  ],
  exitCodes: { 0: 'the target is met', 1: 'failed', 3: 'the target is not met' },
};

export function setUpPlan(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  command
    .description(
      'Recommends settings for a backend, its traffic and a target latency. Predicts the latency, the highest rate that ' +
        'meets the target, and the number of concurrent batches that the traffic needs. All figures are simulated with ' +
        'the production scheduler.',
    )
    .optionsGroup('Backend, one of:')
    .option('--curve <file>', 'duration of batches by size (JSON)')
    .addOption(
      new Option(
        '--probe <file>',
        'measure a model (.onnx) or a module with handler and sample (.ts, .js)',
      ).conflicts('curve'),
    )
    .optionsGroup('Traffic, one of:')
    .option('--rate <number>', 'requests per second', positiveNumber(MAX_PER_SECOND))
    .addOption(
      new Option('--trace <file>', 'arrival times of requests in milliseconds, one per line').conflicts(
        'rate',
      ),
    )
    .optionsGroup('Goal:')
    .option(
      '--target-ms, --target-latency-ms <ms>',
      'target for the total latency of a request; required',
      positiveNumber(LONGEST_MS),
    )
    .addOption(
      new Option('--prefer <goal>', 'low latency, or low backend time')
        .choices(['latency', 'efficiency'])
        .default('latency'),
    )
    .optionsGroup('Constraints:')
    .option(
      '--slots <count>',
      'concurrent batches (default: the fewest that meet the target)',
      wholeNumber(1, MAX_SLOTS),
    )
    .option(
      '--max-batch-size <count>',
      'maximum batch size (default: that of the curve; 64 with --probe)',
      wholeNumber(1, LARGEST_BATCH),
    )
    .option(
      '--noise <share>',
      'noise of batch durations, such as 0.05 or 5% (default: as measured, else 0)',
      share(MAX_NOISE),
    )
    .option('--seed <number>', 'seed of the simulations', wholeNumber(0, Number.MAX_SAFE_INTEGER), 1)
    .optionsGroup('Probing:')
    .option('--probe-seconds <number>', 'duration of the measurement', positiveNumber(3600), 10)
    .addOption(new Option('--save-curve <file>', 'save the measured curve, for --curve').conflicts('curve'))
    .optionsGroup('Output:')
    .option('--json', 'print JSON')
    .option('--svg <file>', 'write a chart of latency against load');
  finishHelp(command, FOOTER).action(async (flags: PlanFlags) => exit(await plan(flags, terminal)));
}

async function plan(flags: PlanFlags, terminal: Terminal): Promise<number> {
  const { slots, maxBatchSize, prefer, seed, json, svg } = flags;
  const progress = new ProgressBar(terminal);
  const note = (text: string) => {
    progress.clear();
    terminal.stderr.write(`note: ${text}\n`);
  };
  const targetLatencyMs = required(flags.targetLatencyMs, '--target-latency-ms');
  required(flags.curve ?? flags.probe, 'one of --curve and --probe');
  required(flags.rate ?? flags.trace, 'one of --rate and --trace');
  try {
    const traffic = await readTraffic(flags, note);
    const { curve, noise } = await readBackend({ ...flags, targetLatencyMs }, terminal, progress, note);
    if (flags.curve !== undefined) noteOnSize(curve, maxBatchSize, note);
    const made = await makePlan({
      curve,
      traffic,
      targetLatencyMs,
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
      if (picture === undefined) note(`${svg} is not written: no rate meets the target.`);
      else await writeNamedFile('--svg', svg, picture);
    }
    return made.verdict.kind === 'holds' ? EXIT_CODES.ok : EXIT_CODES.targetNotMet;
  } finally {
    progress.clear();
  }
}

async function readTraffic({ rate, trace }: PlanFlags, note: (text: string) => void): Promise<Traffic> {
  if (trace === undefined) return { kind: 'rate', perSecond: rate as number };
  const { timesMs, traits } = parseTrace(await readNamedFile('--trace', trace), trace);
  if (timesMs[0] === timesMs.at(-1))
    throw new Failure(`--trace: ${trace} must have at least two requests at different times.`);
  if (traits !== undefined) note(`only the times of ${trace} are used: a plan treats all requests alike.`);
  if (timesMs.length > LONGEST_TRACE)
    note(`${trace} is long: its busiest ${LONGEST_TRACE.toLocaleString('en')} requests are used.`);
  return { kind: 'trace', timesMs };
}

async function readBackend(
  flags: PlanFlags & { readonly targetLatencyMs: number },
  terminal: Terminal,
  progress: ProgressBar,
  note: (text: string) => void,
): Promise<CurveInput> {
  if (flags.probe === undefined) return readCurve(flags.curve as string, flags.maxBatchSize);
  return probeModule({ ...flags, probe: flags.probe }, terminal, progress, note);
}

function noteOnSize(curve: Curve, maxBatchSize: number | undefined, note: (text: string) => void): void {
  if (maxBatchSize === undefined || maxBatchSize <= curve.maxBatchSize) return;
  note(`the curve ends at batches of ${curve.maxBatchSize}: larger batches are not simulated.`);
}

/** Not a required option of commander, which would report missing flags before mistyped ones. */
function required<T>(value: T | undefined, flags: string): T {
  if (value !== undefined) return value;
  throw new UsageFailure(`${flags} is required. See batchwise plan --help.`);
}
