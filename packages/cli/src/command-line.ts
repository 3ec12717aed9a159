/** Runs one `batchwise` command line: help, commands and error messages. */
import { CommanderError } from 'commander';
import { loadProgram } from './program.js';
import { withDashes } from './proxy/proxy-dashes.js';
import { EXIT_CODES } from './terminal/exit-codes.js';
import { errorLine, messageOf, UsageFailure } from './terminal/failure.js';
import type { Terminal } from './terminal/terminal.js';
import { withLongFlags } from './worker/seed-flags.js';

/** Runs a command and returns the exit code of the process. */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  let exitCode: number = EXIT_CODES.ok;
  try {
    const program = await loadProgram(calledCommand(args), terminal, (code) => {
      exitCode = code;
    });
    await program.parseAsync(parsedArgs(args), { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has printed its error, or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.usage;
    // The traceback of a model keeps its lines.
    const isTraceback = error instanceof Error && /\nTraceback |\n {2}File "/.test(error.message);
    terminal.stderr.write(errorLine(isTraceback ? error.message.trim() : messageOf(error), terminal));
    if (terminal.env.BATCHWISE_DEBUG && error instanceof Error) terminal.stderr.write(`${error.stack}\n`);
    return error instanceof UsageFailure ? EXIT_CODES.usage : EXIT_CODES.failed;
  }
}

function calledCommand(args: readonly string[]): string | undefined {
  const [first, second] = args.filter((arg) => !arg.startsWith('-'));
  return first === 'help' ? second : first;
}

function parsedArgs(args: readonly string[]): string[] {
  if (args.length === 0) return ['help'];
  if (args[0] === '-v') return ['--version'];
  return withDashes(withLongFlags(args));
}
