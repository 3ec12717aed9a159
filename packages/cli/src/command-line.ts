/** The `batchwise` command: help, commands and error messages. */
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { COMMANDS } from './commands.js';
import { withDashes } from './proxy/proxy-dashes.js';
import { EXIT_CODES } from './terminal/exit-codes.js';
import { messageOf, UsageFailure } from './terminal/failure.js';
import { hasColours, type Terminal } from './terminal/terminal.js';
import { withLongFlags } from './worker/seed-flags.js';

const EXAMPLES = `
Examples:
  $ batchwise serve models/digits.onnx
  $ batchwise proxy --forwarding-target localhost:50051
  $ batchwise worker handler.ts --queue digits
  $ batchwise load http://localhost:3000/classify --data @sample.json --users 50 --time 60s
  $ batchwise plan --curve curve.json --rate 800 --target-ms 50
  $ batchwise plan --probe ./handler.ts --rate 800 --target-ms 50
  $ batchwise arena --quick

batchwise help <command> shows the flags of a command.`;

/** Runs a command and returns the exit code of the process. */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  let exitCode: number = EXIT_CODES.ok;
  const program = makeProgram(terminal);
  try {
    await addCommands(program, args, terminal, (code) => {
      exitCode = code;
    });
    await program.parseAsync(args.length === 0 ? ['help'] : withDashes(withLongFlags(args)), {
      from: 'user',
    });
    return exitCode;
  } catch (error) {
    // Commander has printed its error, or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.usage;
    // The traceback of a model keeps its lines.
    const isTraceback = error instanceof Error && /\nTraceback |\n {2}File "/.test(error.message);
    terminal.stderr.write(`error: ${isTraceback ? error.message.trim() : messageOf(error)}\n`);
    if (terminal.env.BATCHWISE_DEBUG && error instanceof Error) terminal.stderr.write(`${error.stack}\n`);
    return error instanceof UsageFailure ? EXIT_CODES.usage : EXIT_CODES.failed;
  }
}

function makeProgram(terminal: Terminal): Command {
  const { stdout, stderr, env } = terminal;
  return (
    new Command('batchwise')
      .description('Adaptive request batching: many callers, one item each, one batch for the backend.')
      .version(versionOf(), '-V, --version', 'the version')
      .helpOption('-h, --help', 'this text')
      .helpCommand('help [command]', 'what a command does, and its flags')
      .addHelpText('after', EXAMPLES)
      // Flags after a command belong to the command, or to its subcommand.
      .enablePositionalOptions()
      .exitOverride()
      .configureHelp({
        styleTitle: (text) => `\x1b[1m${text}\x1b[22m`,
        sortSubcommands: false,
      })
      .configureOutput({
        writeOut: (text) => stdout.write(text),
        writeErr: (text) => stderr.write(text),
        getOutHelpWidth: () => stdout.columns || 100,
        getErrHelpWidth: () => stderr.columns || 100,
        getOutHasColors: () => hasColours(stdout, env),
        getErrHasColors: () => hasColours(stderr, env),
      })
  );
}

/** Adds the called command completely, and the others with their summaries only. */
async function addCommands(
  program: Command,
  args: readonly string[],
  terminal: Terminal,
  exit: (code: number) => void,
): Promise<void> {
  const [first, second] = args.filter((arg) => !arg.startsWith('-'));
  const called = first === 'help' ? second : first;
  for (const { name, takes, summary, load } of COMMANDS) {
    if (name !== called) program.command(`${name} ${takes}`).summary(summary);
    else (await load())(program.command(name).summary(summary), terminal, exit);
  }
}

function versionOf(): string {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return (manifest as { version: string }).version;
}
