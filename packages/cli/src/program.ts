/** The tree of commands of `batchwise`. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { COMMANDS } from './commands.js';
import { errorLine } from './terminal/failure.js';
import { finishHelp, HELP_FORMAT } from './terminal/help.js';
import { hasColours, type Terminal } from './terminal/terminal.js';

const EXAMPLES = [
  'batchwise init my-service',
  'batchwise serve models/digits.onnx',
  'batchwise proxy --forwarding-target localhost:50051',
  'batchwise worker handler.ts --queue digits',
  'batchwise load http://localhost:3000/classify --data @sample.json --users 50',
  'batchwise plan --curve curve.json --rate 800 --target-latency-ms 50',
];

/** With all flags of one command, or of all; the other commands have their summaries only. */
export async function loadProgram(
  called: string | 'all' | undefined,
  terminal: Terminal,
  exit: (code: number) => void = () => {},
): Promise<Command> {
  const program = emptyProgram(terminal);
  for (const { name, takes, summary, load } of COMMANDS) {
    if (called !== 'all' && name !== called) program.command(`${name} ${takes}`).summary(summary);
    else (await load())(program.command(name).summary(summary), terminal, exit);
  }
  return program;
}

function emptyProgram(terminal: Terminal): Command {
  const { stdout, stderr, env } = terminal;
  const program = new Command('batchwise')
    .description('Adaptive request batching: collects the single calls of many callers into batches.')
    .version(versionOf(), '-V, --version', 'show version (also -v)')
    .helpCommand('help [command]', 'show help of a command')
    // Flags after a command belong to the command, or to its subcommand.
    .enablePositionalOptions()
    .exitOverride()
    .configureHelp(HELP_FORMAT)
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      outputError: (text, write) => write(errorLine(text.replace(/^error: |\n$/g, ''), terminal)),
      getOutHelpWidth: () => stdout.columns || 100,
      getErrHelpWidth: () => stderr.columns || 100,
      getOutHasColors: () => hasColours(stdout, env),
      getErrHasColors: () => hasColours(stderr, env),
    });
  return finishHelp(program, {
    examples: EXAMPLES,
    notes: ['Run batchwise help <command> for the flags of a command.'],
  });
}

export function versionOf(): string {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return (manifest as { version: string }).version;
}
