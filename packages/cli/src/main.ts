/** `batchwise`: runs the command line and ends the process. */
import { runCommandLine } from './command-line.js';

const args = process.argv.slice(2);
/** These work for others, who do not care whether a log is read, or whether the disk that it is on is full. */
const isServer = ['serve', 'proxy', 'worker'].includes(args[0] ?? '');

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (isServer && !process.stdout.isTTY) return;
  // The reader of a pipe has seen enough: `batchwise plan … | head`.
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});
process.stderr.on('error', (error) => {
  // Of a terminal it means that it is closed, and whoever started this is gone.
  if (!isServer || process.stderr.isTTY) throw error;
});

const exitCode = await runCommandLine(args, process);
// Not only `exitCode`: a module that was probed may have left a pool or a socket open. But what was
// written has to go out first.
process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)));
