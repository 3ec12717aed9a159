/** `batchwise config`: the effective configuration, and where each value is from. */
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
import { paletteFor } from '../terminal/palette.js';
import type { Terminal } from '../terminal/terminal.js';

/** The flags that settings have, and the file: the same for every command that reads the configuration. */
export interface ConfigCommandFlags extends Pick<ConfigFlags, 'host' | 'port' | 'grpcPort' | 'workers'> {
  readonly config?: string;
}

const EXAMPLES = `
Examples:
  $ batchwise config
  $ batchwise config -c production.yaml --port 8080
  $ BATCHWISE__RUNNERS__IRIS__BATCHING__MAX_BATCH_SIZE=32 batchwise config

Flags go over the environment, the environment over the file, the file over defaults.
The file is -c, else BATCHWISE_CONFIG, else batchwise.yaml in this folder where there is one.

Exit codes: 0 it is as it should be, 1 it is not, 2 wrong flags.`;

export function addConfigFlags(command: Command): Command {
  command.addOption(
    new Option('-c, --config <file>', 'the file of settings (default: batchwise.yaml, where there is one)'),
  );
  for (const { option, description, defaultText, parse } of CONFIG_FLAGS)
    command.addOption(
      // No default of commander's: what was not given must not go over the file.
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
    .description('Prints the settings of the server as they count, as YAML, with the origin of each value.')
    .optionsGroup('Settings:');
  addConfigFlags(command)
    .optionsGroup('Output:')
    .option('--json', 'as JSON')
    .helpOption('-h, --help', 'this text')
    .addHelpText('after', EXAMPLES)
    .action((flags: ConfigCommandFlags & { readonly json?: boolean }) => exit(printConfig(flags, terminal)));
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
    terminal.stderr.write(configErrorText(error));
    return EXIT_CODES.failed;
  }
}

/** One complaint a line. */
export function configErrorText({ problems }: ConfigError): string {
  return problems.map((problem) => `error: ${problemText(problem)}\n`).join('');
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
