/** Returns the uncaught errors during `action`, which would otherwise fail the test run. */
import { realClock } from 'batchwise';

export async function uncaughtErrorsDuring(action: () => Promise<void>): Promise<unknown[]> {
  const listeners = process.listeners('uncaughtException');
  const errors: unknown[] = [];
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => errors.push(error));
  try {
    await action();
    await new Promise<void>((resolve) => realClock.defer(resolve));
  } finally {
    process.removeAllListeners('uncaughtException');
    for (const listener of listeners) process.on('uncaughtException', listener);
  }
  return errors;
}
