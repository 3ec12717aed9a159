/** `batchwise config`: the effective settings and the origin of each value. */
import {
  CONFIG_FLAGS,
  ConfigError,
  type ConfigFlags,
  configJson,
  configText,
  loadConfig,
  problemText,
} from '@batchwise/server';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { EXIT_CODES } from '../terminal/exit-codes.js';
import { errorLine } from '../terminal/failure.js';
import { finishHelp, type HelpFooter } from '../terminal/help.js';
import { paletteFor } from '../terminal/palette.js';
import type { Terminal } from '../terminal/terminal.js';

/** The flags of `serve` and `config`. */
export interface ConfigCommandFlags extends Pick<ConfigFlags, 'host' | 'port' | 'grpcPort' | 'workers'> {
  readonly config?: string;
}

const FOOTER: HelpFooter = {
  examples: [
    'batchwise config',
    'batchwise config -c production.yaml --port 8080',
    'BATCHWISE__RUNNERS__IRIS__BATCHING__MAX_BATCH_SIZE=32 batchwise config',
  ],
  notes: [
    'Precedence: flags, environment, file, defaults. The file is that of -c, else of BATCHWISE_CONFIG, else ' +
      'batchwise.yaml in the working directory, if it exists.',
  ],
  exitCodes: { 0: 'valid settings', 1: 'invalid settings' },
};

export function addConfigFlags(command: Command): Command {
  command.option('-c, --config <file>', 'the configuration file (default: batchwise.yaml, if it exists)');
  for (const { option, description, defaultText, parse } of CONFIG_FLAGS)
    command.addOption(
      // Without a default of commander, which would override the file.
      new Option(option, `${description} (default: ${defaultText})`).argParser((text) => {
        try {
          return parse(text);
        } catch (error) {
          throw new InvalidArgumentError(capitalized((error as Error).message));
        }
      }),
    );
  return command;
}

export function setUpConfig(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  command
    .description('Prints the effective settings of the server as YAML, with the origin of each value.')
    .optionsGroup('Settings:');
  addConfigFlags(command).optionsGroup('Output:').option('--json', 'print JSON');
  finishHelp(command, FOOTER).action((flags: ConfigCommandFlags & { readonly json?: boolean }) =>
    exit(printConfig(flags, terminal)),
  );
}

function printConfig(flags: ConfigCommandFlags & { readonly json?: boolean }, terminal: Terminal): number {
  try {
    const loaded = loadConfig({ file: flags.config, env: terminal.env, flags });
    const { faint } = paletteFor(terminal.stdout, terminal.env);
    terminal.stdout.write(
      flags.json ? `${JSON.stringify(configJson(loaded), null, 2)}\n` : configText(loaded, faint),
    );
    return EXIT_CODES.ok;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    terminal.stderr.write(configErrorText(error, terminal));
    return EXIT_CODES.failed;
  }
}

/** One problem per line. */
export function configErrorText({ problems }: ConfigError, terminal: Terminal): string {
  return problems.map((problem) => errorLine(problemText(problem), terminal)).join('');
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
