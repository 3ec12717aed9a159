/** Where the benchmarks read a clock and wait. */
import { setTimeout as sleep } from 'node:timers/promises';

export function nowMs(): number {
  return performance.now();
}

export async function pauseMs(ms: number): Promise<void> {
  await sleep(ms);
}

/** As `pauseMs`, but the process may end meanwhile: for limits that are rarely reached. */
export async function limitMs(ms: number): Promise<void> {
  await sleep(ms, undefined, { ref: false });
}

export function setTimer(callback: () => void, ms: number): void {
  setTimeout(callback, Math.max(0, ms));
}
