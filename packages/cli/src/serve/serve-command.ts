/** `batchwise serve`: serves models and services until a signal. */
import { isUrl } from '@batchwise/runners';
import { ConfigError, pythonReference } from '@batchwise/server';
import type { Command } from 'commander';
import { EXIT_CODES } from '../terminal/exit-codes.js';
import { UsageFailure } from '../terminal/failure.js';
import { finishHelp, type HelpFooter } from '../terminal/help.js';
import type { Terminal } from '../terminal/terminal.js';
import { rejectBentomlFlags } from './bentoml-flags.js';
import { addConfigFlags, type ConfigCommandFlags, configErrorText } from './config-command.js';
import { ServerRun } from './server-run.js';

const FOOTER: HelpFooter = {
  examples: [
    'batchwise serve models/digits.onnx models/iris.onnx',
    'batchwise serve model.py:Classifier --watch',
    'batchwise serve service.ts --port 8080 --grpc-port 8081 --workers 4',
    'batchwise serve grpc://gpu:8001/minilm',
    'batchwise serve -c production.yaml',
  ],
  notes: [
    'Without files, the configuration file names them. Models are served with the Open Inference Protocol (/v2) and at ' +
      '/v1/models/<name>:predict, a service at its own routes. See /docs, /dashboard and /metrics.',
    'SIGTERM and Ctrl-C finish the accepted requests and stop the server. A second signal stops it at once. SIGHUP, or ' +
      'a change of the configuration file, applies new batching settings without a restart.',
    '--watch restarts the server when a *.py file in the folder of a Python model or a *.ts file in the folder of a ' +
      'TypeScript service changes, subfolders included.',
  ],
  exitCodes: { 0: 'stopped by a signal', 1: 'the start or the drain failed' },
};

export interface ServeFlags extends ConfigCommandFlags {
  readonly watch?: boolean;
}

export function setUpServe(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  command
    .description(
      'Serves Python models (*.py), ONNX models (*.onnx), models of other servers (grpc://host:port/model, ' +
        'unix:///run/model.sock) and a service module (*.ts, *.js) over HTTP and gRPC.',
    )
    .argument('[files...]', 'models, and at most one service module')
    .optionsGroup('Settings:');
  rejectBentomlFlags(addConfigFlags(command)).option(
    '--watch',
    'restart when a Python model or a TypeScript service changes',
  );
  finishHelp(command, FOOTER).action(async (files: string[], flags: ServeFlags) =>
    exit(await runServer(files, flags, terminal)),
  );
}

async function runServer(files: string[], flags: ServeFlags, terminal: Terminal): Promise<number> {
  const { watch = false, config, ...settings } = flags;
  const options = { watch, config, flags: { ...settings, ...sortedFiles(files) } };
  try {
    return await new ServerRun(options, terminal).untilEnd();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    terminal.stderr.write(configErrorText(error, terminal));
    return EXIT_CODES.failed;
  }
}

/** Sorts the arguments by their extensions. */
function sortedFiles(files: readonly string[]): { models?: string[]; service?: string } {
  const isModel = (file: string) =>
    file.endsWith('.onnx') || isUrl(file) || pythonReference(file) !== undefined;
  const models = files.filter(isModel);
  const services = files.filter((file) => !isModel(file) && /\.[cm]?[jt]s$/.test(file));
  const other = files.find((file) => !models.includes(file) && !services.includes(file));
  if (other !== undefined) {
    throw new UsageFailure(
      `${other}: expected a model (*.py, *.onnx, grpc://…, http://…, unix://…) or a service module (*.ts, *.js).`,
    );
  }
  if (services.length > 1) {
    throw new UsageFailure(`expected at most one service module, got ${services.join(' and ')}.`);
  }
  const [service] = services;
  return { ...(models.length > 0 && { models }), ...(service !== undefined && { service }) };
}
