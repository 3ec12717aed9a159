/** `batchwise`: runs the command line and ends the process. */
import { runCommandLine } from './command-line.js';

// The reader of a pipe has seen enough: `batchwise plan … | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

const exitCode = await runCommandLine(process.argv.slice(2), process);
// Not only `exitCode`: a module that was probed may have left a pool or a socket open. But what was
// written has to go out first.
process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)));
