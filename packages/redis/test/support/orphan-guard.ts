/**
 * Processes that a test starts do not outlive the one it runs in, however that ends: a test runner ends its workers
 * by a signal, and then no code of theirs gets to clean up.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';

/** Keeps the list of those that run, and kills them when it hears no more from here. */
const script = `
pids=
while read -r sign pid; do
  others=
  for other in $pids; do [ "$other" = "$pid" ] || others="$others $other"; done
  pids=$others
  [ "$sign" = + ] && pids="$pids $pid"
done
for pid in $pids; do kill -9 "$pid"; done
`;

let guard: Socket | undefined;

export function guardAgainstOrphans(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined) return;
  guard ??= startGuard();
  const list = guard;
  list.write(`+ ${pid}\n`);
  child.once('exit', () => list.write(`- ${pid}\n`));
}

function startGuard(): Socket {
  // In a group of its own: Ctrl-C in the terminal is not meant for it.
  const shell = spawn('sh', ['-c', script], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  shell.unref();
  const input = shell.stdin as Socket;
  input.unref();
  // Whoever ended it has no use for it; a test does not fail by that.
  input.on('error', () => {});
  return input;
}
