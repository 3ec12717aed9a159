/** `batchwise load`: sends traffic to a target, shows it live, and reports. */
import { dirname, relative } from 'node:path';
import {
  failuresCsv,
  historyCsv,
  type LoadReport,
  type LoadRun,
  liveTable,
  progressLine,
  type RunSpec,
  reportHtml,
  reportJson,
  reportText,
  scenarioJson,
  serviceCurve,
  startLoadPage,
  startRun,
  statsCsv,
  traceText,
} from '@batchwise/load';
import { realClock } from 'batchwise';
import { type Command, Option } from 'commander';
import { endingSignals } from '../terminal/ending-signals.js';
import { EXIT_CODES } from '../terminal/exit-codes.js';
import { writeNamedFile } from '../terminal/files.js';
import { positiveNumber, wholeNumber } from '../terminal/flag-values.js';
import { finishHelp, type HelpFooter } from '../terminal/help.js';
import { paletteFor } from '../terminal/palette.js';
import { isLive, type Terminal } from '../terminal/terminal.js';
import { checkLoadFlags, isScenarioFile, type OutputFlags, type ScenarioFlags } from './check-load-flags.js';
import { setUpCompare } from './compare-command.js';
import { setUpKnee } from './knee-command.js';
import {
  addArrivalFlags,
  addRequestFlags,
  addRunFlags,
  addUserFlags,
  MOST_PROCESSES,
  type RequestFlags,
  runPart,
  TARGET_FLAG,
  type TrafficFlags,
  targetSpec,
} from './load-flags.js';
import { severalTexts } from './load-values.js';

interface LoadFlags extends RequestFlags, TrafficFlags, ScenarioFlags, OutputFlags {
  readonly processes: number;
  readonly targetLatencyMs?: number;
  readonly failIf?: readonly string[];
  readonly web?: boolean;
  readonly webHost: string;
  readonly webPort: number;
  readonly webToken?: string;
}

const FOOTER: HelpFooter = {
  examples: [
    'batchwise load http://localhost:3000/classify --data @sample.json --users 50',
    'batchwise load http://localhost:3000/classify --data @sample.json --rate 800 --time 30s',
    "batchwise load grpc://localhost:50051/demo.Greeter/SayHello --data '{}' --rate 500",
    'batchwise load load.ts --host http://localhost:3000 --users 400 --html report.html',
    'batchwise load http://localhost:3000/classify --data @sample.json --web',
  ],
  notes: [
    'A target is a URL (http, https, grpc, grpcs, redis, rediss) or a scenario file (load.ts). A scenario sets the ' +
      'request itself.',
    "Failed requests do not change the exit code. Use --fail-if 'error_rate > 0%'.",
    'Ctrl-C ends the run with a complete report. A second Ctrl-C stops the process at once.',
  ],
  exitCodes: { 0: 'done', 1: 'failed', 3: 'a --fail-if rule is true' },
};

const EVERY_MS = 1000;
/** Interval of progress lines if the output cannot be redrawn. */
const SECONDS_PER_LINE = 5;

export function setUpLoad(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  command
    .description(
      'Sends traffic to a server and reports goodput, latency, failures and batch sizes. The traffic is a number of ' +
        'users that wait for their responses, or arrivals at a rate.',
    )
    .argument('[target]', 'URL or scenario file')
    .usage('[options] [target]')
    // Flags after `knee` and `compare` belong to them.
    .enablePositionalOptions();
  addRequestFlags(command);
  addUserFlags(command);
  addArrivalFlags(command);
  addRunFlags(command)
    .option(
      '--processes <count>',
      'generator processes that share the traffic',
      wholeNumber(1, MOST_PROCESSES),
      1,
    )
    .option('--host <url>', 'base URL of the paths in a scenario')
    .option('--tag <name>', 'run only the tasks of a scenario with this tag; may be repeated', severalTexts)
    .optionsGroup('Verdict:')
    .option(TARGET_FLAG, 'target latency: goodput counts successful responses within it', positiveNumber(1e8))
    .option(
      '--fail-if <rule>',
      "exit code 3 if the rule is true, such as 'p99 > 100ms'; may be repeated",
      severalTexts,
    )
    .optionsGroup('Output:')
    .option('--json <file>', 'write the report as JSON; - for stdout')
    .option(
      '--csv <prefix>',
      "write Locust's files: prefix_stats.csv, prefix_stats_history.csv, prefix_failures.csv",
    )
    .option('--html <file>', 'write the report as one page with plots')
    .option('--save-trace <file>', 'write the arrival times, for batchwise plan --trace')
    .option('--save-curve <file>', 'write the compute time by batch size, for batchwise plan --curve')
    .option('--save-scenario <file>', 'write arrivals and compute times, for batchwise arena --scenario')
    .optionsGroup('Web page:')
    .option('--web', 'serve a page to start, watch and change runs')
    .option('--web-port <port>', 'port of the page', wholeNumber(0, 65_535), 8089)
    .option('--web-host <address>', 'listening address of the page', '127.0.0.1')
    .addOption(
      new Option(
        '--web-token <text>',
        'token of the page (default: none on loopback, random at other addresses)',
      ).env('BATCHWISE_LOAD_TOKEN'),
    )
    .helpCommand(false);
  finishHelp(command, FOOTER).action(async (target: string | undefined, flags: LoadFlags) => {
    if (target === undefined) command.help();
    exit(await load(target as string, flags, terminal));
  });
  setUpKnee(command.command('knee'), terminal, exit);
  setUpCompare(command.command('compare'), terminal, exit);
}

async function load(target: string, flags: LoadFlags, terminal: Terminal): Promise<number> {
  // Before the first request, so that a mistake is not found after an hour.
  await checkLoadFlags(target, flags);
  const spec = await runSpec(target, flags);
  return flags.web ? serveWeb(spec, flags, terminal) : runOnce(spec, flags, terminal);
}

async function runSpec(target: string, flags: LoadFlags): Promise<RunSpec> {
  const { processes, targetLatencyMs, failIf, host, tag, saveTrace } = flags;
  return {
    work: isScenarioFile(target)
      ? {
          kind: 'scenario',
          file: target,
          ...(host !== undefined && { host }),
          ...(tag !== undefined && { tags: tag }),
        }
      : { kind: 'target', target: await targetSpec(target, flags) },
    ...(await runPart(flags)),
    processes,
    ...(targetLatencyMs !== undefined && { targetLatencyMs }),
    ...(failIf !== undefined && { failIf }),
    ...(saveTrace !== undefined && { keepArrivals: true }),
  };
}

async function runOnce(spec: RunSpec, flags: LoadFlags, terminal: Terminal): Promise<number> {
  const run = await startRun(spec);
  const report = await shownToItsEnd(run, terminal, flags.json === '-');
  await writeOutputs(report, run, flags, terminal);
  return report.verdicts.some(({ isBroken }) => isBroken) ? EXIT_CODES.targetNotMet : EXIT_CODES.ok;
}

/** Redraws the figures during the run. The first signal ends the run, the second one the process. */
async function shownToItsEnd(run: LoadRun, terminal: Terminal, isQuiet: boolean): Promise<LoadReport> {
  const { stderr, env } = terminal;
  const live = isLive(stderr, env);
  const palette = paletteFor(stderr, env);
  const signals = endingSignals();
  let hasEnded = false;
  void signals.first.then(() => {
    stderr.write(live ? '' : 'Stopping. Waiting for the responses of requests in flight.\n');
    void run.stop();
  });
  void signals.second.then(() => process.exit(130));
  const ended = run.ended.finally(() => {
    hasEnded = true;
  });
  let drawnLines = 0;
  const erase = () => {
    if (drawnLines > 0) stderr.write(`\x1b[${drawnLines}A\x1b[0J`);
    drawnLines = 0;
  };
  try {
    for (let second = 1; !hasEnded; second++) {
      await Promise.race([ended, aSecond()]);
      if (hasEnded || isQuiet) continue;
      if (live) {
        const text = liveTable(run.report(), stderr.columns || 80, palette);
        erase();
        stderr.write(text);
        drawnLines = text.split('\n').length - 1;
      } else if (second % SECONDS_PER_LINE === 0) {
        stderr.write(`${progressLine(run.report())}\n`);
      }
    }
    erase();
    return await ended;
  } finally {
    signals.stop();
  }
}

function aSecond(): Promise<void> {
  return new Promise((resolve) => {
    realClock.setTimer(resolve, EVERY_MS);
  });
}

async function writeOutputs(
  report: LoadReport,
  run: LoadRun,
  flags: LoadFlags,
  terminal: Terminal,
): Promise<void> {
  const { json, csv, html, saveTrace, saveCurve, saveScenario } = flags;
  const { stdout, stderr, env } = terminal;
  if (json === '-') stdout.write(reportJson(report));
  else stdout.write(reportText(report, paletteFor(stdout, env)));
  const write = async (flag: string, path: string, text: string) => {
    await writeNamedFile(flag, path, text);
    stderr.write(`Wrote ${path}\n`);
  };
  if (json !== undefined && json !== '-') await write('--json', json, reportJson(report));
  if (csv !== undefined) {
    await write('--csv', `${csv}_stats.csv`, statsCsv(report));
    await write('--csv', `${csv}_stats_history.csv`, historyCsv(report));
    await write('--csv', `${csv}_failures.csv`, failuresCsv(report));
  }
  if (html !== undefined) await write('--html', html, reportHtml(report));
  if (saveTrace !== undefined) await write('--save-trace', saveTrace, traceText(run.arrivals));
  const writeJson = (flag: string, path: string, value: unknown) =>
    write(flag, path, `${JSON.stringify(value, null, 2)}\n`);
  if (saveCurve !== undefined) await writeJson('--save-curve', saveCurve, serviceCurve(report.batchSizes));
  if (saveScenario !== undefined)
    await writeJson('--save-scenario', saveScenario, scenarioJson(report, scenarioOptions(flags)));
}

/** A scenario names the saved trace; without one it has the rate of the run. */
function scenarioOptions({ saveTrace, saveScenario = '' }: LoadFlags): { readonly traceFile?: string } {
  return saveTrace === undefined ? {} : { traceFile: relative(dirname(saveScenario), saveTrace) };
}

async function serveWeb(spec: RunSpec, flags: LoadFlags, terminal: Terminal): Promise<number> {
  const { webHost: host, webPort: port, webToken: token } = flags;
  const page = await startLoadPage({
    host,
    port,
    ...(token !== undefined && { token }),
    initial: spec,
    start: startRun,
    downloads: {
      'report.html': reportHtml,
      'report.json': reportJson,
      'stats.csv': statsCsv,
      'history.csv': historyCsv,
      'failures.csv': failuresCsv,
    },
  });
  terminal.stderr.write(`The load page is at ${page.url}\nCtrl-C stops it.\n`);
  const signals = endingSignals();
  void signals.second.then(() => process.exit(130));
  await signals.first;
  const report = await page.close();
  signals.stop();
  if (report !== undefined)
    terminal.stdout.write(reportText(report, paletteFor(terminal.stdout, terminal.env)));
  return EXIT_CODES.ok;
}
