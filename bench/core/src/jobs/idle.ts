/** What a batcher that has nothing to do still does: it is left open, after work of every kind. */
import { Batcher } from 'batchwise';
import { collectGarbage } from './collect-garbage.js';

export interface IdleParams {
  readonly calls: number;
  readonly idleMs: number;
}

export interface IdleResult {
  /** What keeps the event loop alive, by kind, the pipes to the parent left out. */
  readonly resources: readonly string[];
  readonly cpuMs: number;
  /** The same stretch of time in a process whose batcher never had work. */
  readonly cpuMsBefore: number;
}

export async function run({ calls, idleMs }: IdleParams): Promise<IdleResult> {
  const batcher = new Batcher(async (items: number[]) => items, {
    timeoutMs: 60_000,
    handlerTimeoutMs: 60_000,
  });
  const cpuMsBefore = await cpuMsWhileIdle(idleMs);
  const { signal } = new AbortController();
  await Promise.all(
    Array.from({ length: calls }, (_, i) => batcher.submit(i, { signal, timeoutMs: 30_000 })),
  );
  await new Promise(setImmediate);
  const resources = process.getActiveResourcesInfo().filter((kind) => !kind.startsWith('Pipe'));
  return { resources, cpuMsBefore, cpuMs: await cpuMsWhileIdle(idleMs) };
}

async function cpuMsWhileIdle(idleMs: number): Promise<number> {
  // Or the collector would tidy up meanwhile, on our account.
  collectGarbage();
  const start = process.cpuUsage();
  await new Promise((resolve) => setTimeout(resolve, idleMs));
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}
