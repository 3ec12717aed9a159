import { onTestFinished } from 'vitest';

/** What was started for the test that calls this: gone when the test is over, however it ends. */
export async function forThisTest<T extends AsyncDisposable>(starting: T | Promise<T>): Promise<T> {
  const started = await starting;
  onTestFinished(() => started[Symbol.asyncDispose]());
  return started;
}
