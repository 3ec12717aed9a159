/** A process that was started, and the ways to start one. */
import { type ChildProcess, fork } from 'node:child_process';
import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';
import type { ControlMessage } from './control-message.js';
import { closeWhatIsNotTaken } from './handed-connections.js';

export interface ChildHandle {
  readonly pid: number | undefined;
  /** Does nothing once the process is gone. */
  send(message: ControlMessage): void;
  kill(signal: NodeJS.Signals): void;
  onMessage(listener: (message: unknown) => void): void;
  /** Called once; `error` when it could not be started at all. */
  onExit(listener: (exit: ChildExit) => void): void;
}

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly error?: Error;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export function forkChild(module: string | URL, env: Environment, name: string): ChildHandle {
  // Advanced: what JSON cannot carry, such as Infinity in settings, arrives as it left.
  return handleOf(
    fork(pathOf(module), [name], { serialization: 'advanced', env: { ...process.env, ...env } }),
  );
}

/** A process that shares its listening sockets with all others that are started so. */
export function forkClusterChild(module: string | URL, env: Environment, name: string): ChildHandle {
  cluster.setupPrimary({ exec: pathOf(module), args: [name], serialization: 'advanced' });
  const worker = cluster.fork(env);
  // The primary may send a socket to a process that was just killed. The exit of the process is reported anyway.
  worker.on('error', () => {});
  const child = worker.process;
  closeWhatIsNotTaken(child);
  return handleOf(child);
}

function handleOf(child: ChildProcess): ChildHandle {
  return {
    pid: child.pid,
    // With a callback, a channel that is closed is reported to it and not thrown.
    send: (message) => void child.send(message, () => {}),
    kill: (signal) => void child.kill(signal),
    onMessage: (listener) => void child.on('message', listener),
    onExit: (listener) => {
      let hasEnded = false;
      const end = (exit: ChildExit) => {
        if (hasEnded) return;
        hasEnded = true;
        listener(exit);
      };
      child.on('exit', (code, signal) => end({ code, signal }));
      // Also emitted when a signal could not be delivered, which is no end.
      child.on('error', (error) => {
        if (child.pid === undefined) end({ code: null, signal: null, error });
      });
    },
  };
}

function pathOf(module: string | URL): string {
  return module instanceof URL ? fileURLToPath(module) : module;
}
