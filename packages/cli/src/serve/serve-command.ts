/** `batchwise serve`: models and services, until a signal ends it. */
import { constants } from 'node:os';
import type { Palette } from '@batchwise/arena';
import { isUrl } from '@batchwise/runners';
import {
  ConfigError,
  durationText,
  loadConfig,
  pythonReference,
  type RunningServer,
  serve,
} from '@batchwise/server';
import type { Command } from 'commander';
import { endingSignals } from '../terminal/ending-signals.js';
import { EXIT_CODES } from '../terminal/exit-codes.js';
import { UsageFailure } from '../terminal/failure.js';
import { paletteFor } from '../terminal/palette.js';
import type { Terminal } from '../terminal/terminal.js';
import { rejectBentomlFlags } from './bentoml-flags.js';
import { addConfigFlags, type ConfigCommandFlags, configErrorText } from './config-command.js';
import { watchFile } from './config-watch.js';

const EXAMPLES = `
Examples:
  $ batchwise serve models/digits.onnx models/iris.onnx
  $ batchwise serve model.py
  $ batchwise serve model.py:Classifier other.py
  $ batchwise serve service.ts --port 8080 --grpc-port 8081
  $ batchwise serve service.ts --workers 4
  $ batchwise serve grpc://gpu:8001/minilm
  $ batchwise serve -c production.yaml

Models are served at the Open Inference Protocol (/v2) and at /v1/models/<name>:predict,
a service at its own routes. /docs shows all of them, /dashboard what they are doing,
and /metrics is for Prometheus.

SIGTERM and Ctrl-C finish what was accepted; a second one ends at once. SIGHUP, or a change
of the file of settings, takes over new batching settings without a restart.

Exit codes: 0 stopped as told, 1 it could not start, or not all could be finished, 2 wrong flags.`;

export function setUpServe(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  command
    .description(
      'Serves Python models (*.py), ONNX models (*.onnx), models of other servers (grpc://host:port/model) or a service module (*.ts, *.js), in batches.',
    )
    .argument('[files...]', 'models, and at most one service module')
    .optionsGroup('Settings:');
  rejectBentomlFlags(addConfigFlags(command))
    .helpOption('-h, --help', 'this text')
    .addHelpText('after', EXAMPLES)
    .action(async (files: string[], flags: ConfigCommandFlags) =>
      exit(await runServer(files, flags, terminal)),
    );
}

async function runServer(files: string[], flags: ConfigCommandFlags, terminal: Terminal): Promise<number> {
  const named = sortedFiles(files);
  const palette = paletteFor(terminal.stdout, terminal.env);
  const log = (line: string) => terminal.stderr.write(`${line}\n`);
  let file = flags.config;
  const load = (runnerNames?: readonly string[]) => {
    const config = loadConfig({ file, env: terminal.env, flags: { ...flags, ...named }, runnerNames });
    file ??= config.file; // one that was found counts as named from then on: without it, nothing changes
    return config;
  };
  const ending = endingSignals();
  ending.first.then((signal) => log(`${signal}.`));
  const starting = new AbortController();
  let reload = () => {}; // until it is ready, and again when it ends: a signal must not end it
  const onReloadSignal = () => reload();
  process.on('SIGHUP', onReloadSignal);
  try {
    const { settings } = load(); // what is wrong with them is told before anything else
    terminal.stdout.write('Loading and warming up …\n');
    ending.first.then(() => starting.abort());
    const server = await serve({ load, log, signal: starting.signal }).catch((error: unknown) => {
      if (starting.signal.aborted) return undefined; // told to end before it had begun
      throw error;
    });
    if (server === undefined) return EXIT_CODES.ok;
    reload = () => reloadOrSay(server, log);
    const stopWatching = file === undefined ? () => {} : watchFile(file, () => reload(), log);
    terminal.stdout.write(greeting(server, palette));
    await ending.first;
    stopWatching();
    reload = () => {};
    log('Finishing what was accepted; a second signal ends it at once.');
    const ended = await Promise.race([server.stop(), ending.second]);
    if (typeof ended === 'string') {
      server.kill();
      return 128 + constants.signals[ended];
    }
    if (ended) return EXIT_CODES.ok;
    const timeout = durationText(settings.server.shutdownTimeoutMs);
    log(`Not all that was accepted could be finished: server.shutdown_timeout is ${timeout}.`);
    return EXIT_CODES.failed;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    terminal.stderr.write(configErrorText(error));
    return EXIT_CODES.failed;
  } finally {
    ending.stop();
    process.off('SIGHUP', onReloadSignal);
  }
}

/** What is to be served, by the ends of the names. */
function sortedFiles(files: readonly string[]): { models?: string[]; service?: string } {
  const isModel = (file: string) =>
    file.endsWith('.onnx') || isUrl(file) || pythonReference(file) !== undefined;
  const models = files.filter(isModel);
  const services = files.filter((file) => !isModel(file) && /\.[cm]?[jt]s$/.test(file));
  const other = files.find((file) => !models.includes(file) && !services.includes(file));
  if (other !== undefined) {
    throw new UsageFailure(
      `${other}: expected a model (*.py, *.onnx, grpc://…, http://…) or a service module (*.ts, *.js).`,
    );
  }
  if (services.length > 1) {
    throw new UsageFailure(`expected at most one service module, got ${services.join(' and ')}.`);
  }
  const [service] = services;
  return { ...(models.length > 0 && { models }), ...(service !== undefined && { service }) };
}

function greeting({ address, runners }: RunningServer, { heading, faint }: Palette): string {
  const { url, grpcPort } = address;
  const places = [
    [`${url}/docs`, 'API docs, with forms to try requests'],
    [`${url}/dashboard`, 'live dashboard'],
    [`${url}/metrics`, 'Prometheus metrics'],
    [`${url}/readyz`, 'readiness check'],
  ];
  if (grpcPort !== undefined) places.push([`${new URL(url).hostname}:${grpcPort}`, 'gRPC']);
  const width = Math.max(...places.map(([place = '']) => place.length));
  const lines = places.map(([place = '', what = '']) => `  ${place.padEnd(width)}   ${faint(what)}`);
  const served = runners.join(', ') || 'the service';
  return `${heading('Batchwise')} serves ${served} at ${heading(url)}\n\n${lines.join('\n')}\n\nCtrl-C stops it.\n`;
}

function reloadOrSay(server: RunningServer, log: (line: string) => void): void {
  try {
    server.reload();
  } catch (error) {
    const text =
      error instanceof ConfigError ? configErrorText(error) : `error: ${(error as Error).message}\n`;
    log(`${text}The settings stay as they were.`);
  }
}
