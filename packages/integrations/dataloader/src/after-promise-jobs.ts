import { realClock } from 'batchwise';

interface Process {
  readonly nextTick?: (callback: () => void) => void;
}
const { process } = globalThis as { process?: Process };
const resolved = Promise.resolve();

/**
 * Calls back when all promise jobs of the current tick have run, so that loads made in chained promises are in the same
 * batch. Where there is no `process.nextTick`, no queue comes after the promise jobs and before the next task: the
 * callback is a task of its own then.
 */
export const afterPromiseJobs: (callback: () => void) => void =
  typeof process?.nextTick === 'function'
    ? // Node runs its ticks only when no promise job is left, and a promise job that adds a tick adds it behind them.
      (callback) => void resolved.then(() => process.nextTick?.(callback))
    : (callback) => realClock.defer(callback);
