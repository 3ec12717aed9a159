/** The resources and processor time of an open batcher after its calls have ended. */
import { Batcher } from 'batchwise';
import { collectGarbage } from './collect-garbage.js';

export interface IdleParams {
  readonly calls: number;
  readonly idleMs: number;
}

export interface IdleResult {
  /** The resources that keep the event loop alive, by kind, without the pipes to the parent process. */
  readonly resources: readonly string[];
  readonly cpuMs: number;
  /** The same for a batcher before its first call. */
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
  // Otherwise the garbage collector would run during the measurement.
  collectGarbage();
  const start = process.cpuUsage();
  await new Promise((resolve) => setTimeout(resolve, idleMs));
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}
