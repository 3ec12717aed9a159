/** For what can only be asked about, because it happens in another process and announces nothing. */
import { setTimeout as delay } from 'node:timers/promises';

/** Asks until the answer is something other than undefined or false; fails with `what` after a generous time. */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  deadlineMs = 300_000,
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (performance.now() > deadline) throw new Error(`expected ${what} within ${deadlineMs} ms`);
    await delay(20);
  }
}
