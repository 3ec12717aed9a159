/** The `batchwise` command: its help, its commands, and what it says when something is wrong. */
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { addArenaCommand } from './arena-command.js';
import { addConfigCommand } from './config-command.js';
import { addDeadCommand } from './dead-command.js';
import { EXIT_CODES } from './exit-codes.js';
import { messageOf, UsageFailure } from './failure.js';
import { addPlanCommand } from './plan-command.js';
import { addProxyCommand } from './proxy-command.js';
import { withDashes } from './proxy-flags.js';
import { addQueueCommand } from './queue-command.js';
import { withLongFlags } from './seed-flags.js';
import { addServeCommand } from './serve-command.js';
import { hasColours, type Terminal } from './terminal.js';
import { addWorkerCommand } from './worker-command.js';

const EXAMPLES = `
Examples:
  $ batchwise serve models/digits.onnx
  $ batchwise proxy --forwarding-target localhost:50051
  $ batchwise worker handler.ts --queue digits
  $ batchwise plan --curve curve.json --rate 800 --target-ms 50
  $ batchwise plan --probe ./handler.ts --rate 800 --target-ms 50
  $ batchwise arena --quick

batchwise help <command> tells more.`;

/** Runs a command to its end; the answer is the exit code of the process. */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  let exitCode: number = EXIT_CODES.ok;
  const program = makeProgram(terminal, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(args.length === 0 ? ['help'] : withDashes(withLongFlags(args)), {
      from: 'user',
    });
    return exitCode;
  } catch (error) {
    // Commander has written its own complaint, or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.usage;
    terminal.stderr.write(`error: ${messageOf(error)}\n`);
    if (terminal.env.BATCHWISE_DEBUG && error instanceof Error) terminal.stderr.write(`${error.stack}\n`);
    return error instanceof UsageFailure ? EXIT_CODES.usage : EXIT_CODES.failed;
  }
}

function makeProgram(terminal: Terminal, exit: (code: number) => void): Command {
  const { stdout, stderr, env } = terminal;
  const program = new Command('batchwise')
    .description('Adaptive request batching: many callers, one item each, one batch for the backend.')
    .version(versionOf(), '-V, --version', 'the version')
    .helpOption('-h, --help', 'this text')
    .helpCommand('help [command]', 'what a command does, and its flags')
    .addHelpText('after', EXAMPLES)
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
    });
  addServeCommand(program, terminal, exit);
  addConfigCommand(program, terminal, exit);
  addProxyCommand(program, terminal, exit);
  addWorkerCommand(program, terminal, exit);
  addQueueCommand(program, terminal, exit);
  addDeadCommand(program, terminal, exit);
  addPlanCommand(program, terminal, exit);
  addArenaCommand(program, terminal, exit);
  return program;
}

function versionOf(): string {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return (manifest as { version: string }).version;
}
