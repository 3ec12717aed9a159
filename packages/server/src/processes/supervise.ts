/** Runs a supervisor as a whole program does: until a signal ends it, or it cannot start. */
import { constants } from 'node:os';
import type { Supervisor } from './supervisor.js';

export interface SuperviseOptions {
  /** Called with what the web processes say when they are ready. */
  readonly onStarted?: ((details: readonly unknown[]) => void) | undefined;
  /** On SIGHUP. What it throws or rejects with is logged, and everything stays as it is. */
  readonly reload?: (() => void | Promise<void>) | undefined;
  readonly log?: ((line: string) => void) | undefined;
  /** Where signals come from. */
  readonly signals?: Pick<NodeJS.EventEmitter, 'on' | 'off'> | undefined;
}

/**
 * Resolves with the exit code: 0 after a drain, 1 when a process could not start or had to be killed to
 * end, 128 and the signal's number when a second signal cut the drain short.
 */
export function supervise(supervisor: Supervisor, options: SuperviseOptions = {}): Promise<number> {
  const { log = (line: string) => console.error(line), signals = process } = options;
  let isTold = false;
  return new Promise((resolve) => {
    const end = (exitCode: number) => {
      signals.off('SIGTERM', onEndSignal);
      signals.off('SIGINT', onEndSignal);
      signals.off('SIGHUP', onReloadSignal);
      resolve(exitCode);
    };
    const onEndSignal = (signal: NodeJS.Signals) => {
      if (isTold) {
        supervisor.kill();
        end(128 + constants.signals[signal]);
        return;
      }
      isTold = true;
      log(`${signal}: finishing what was accepted; a second signal ends it at once.`);
      supervisor.stop().then((isClean) => end(isClean ? 0 : 1));
    };
    const onReloadSignal = () => {
      // Within a promise, so that it may throw as well as reject.
      Promise.resolve()
        .then(options.reload)
        .catch((error: unknown) => log(`The settings were not reloaded: ${messageOf(error)}`));
    };
    signals.on('SIGTERM', onEndSignal);
    signals.on('SIGINT', onEndSignal);
    signals.on('SIGHUP', onReloadSignal);
    supervisor.start().then(options.onStarted, (error: unknown) => {
      if (isTold) return; // It is not ready because it was told to end.
      log(messageOf(error));
      end(1);
    });
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
