/** `batchwise`: runs the command line and ends the process. */
import { runCommandLine } from './command-line.js';

const args = process.argv.slice(2);
/** Servers continue when nothing reads their log, or when its disk is full. */
const isServer = ['serve', 'proxy', 'worker'].includes(args[0] ?? '');

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (isServer && !process.stdout.isTTY) return;
  // The reader of the pipe has exited: `batchwise plan … | head`.
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});
process.stderr.on('error', (error) => {
  // A terminal that fails is closed, so the process ends.
  if (!isServer || process.stderr.isTTY) throw error;
});

const exitCode = await runCommandLine(args, process);
// Not only `exitCode`, because a probed module may have left a pool or a socket open. Pending output is flushed first.
process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)));
