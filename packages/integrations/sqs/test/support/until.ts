/** Waits in virtual time for what sockets bring. */
import type { VirtualClock } from 'batchwise';

const GENEROUS_MS = 300_000;

/** Lets the event loop turn, without moving the clock, until the condition holds. */
export async function until(clock: VirtualClock, what: string, condition: () => boolean): Promise<void> {
  const giveUpAt = performance.now() + GENEROUS_MS;
  while (!condition()) {
    if (performance.now() > giveUpAt) throw new Error(`Waited in vain for ${what}.`);
    await clock.settle();
  }
}
