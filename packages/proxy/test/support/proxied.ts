/** A proxy in this process on a free port, destroyed after the current test. */
import { type ProxyOptions, type RunningProxy, startProxy } from '@batchwise/proxy';
import { onTestFinished } from 'vitest';

export interface Proxied {
  readonly proxy: RunningProxy;
  readonly port: number;
  readonly log: readonly string[];
}

interface Backend {
  readonly target: string;
}

export async function proxied(
  backends: Backend | readonly Backend[],
  options: ProxyOptions = {},
): Promise<Proxied> {
  const log: string[] = [];
  const targets = [backends].flat().map(({ target }) => target);
  const proxy = await startProxy({
    port: 0,
    adminPort: false,
    targets,
    log: (line) => log.push(line),
    ...options,
  });
  // Destroyed, not drained: a test may have left calls open.
  onTestFinished(() => proxy.close({ timeoutMs: 0 }));
  return { proxy, port: proxy.address.port, log };
}

/** A batch is dispatched when it has this many items, and not before. */
export function batchesOf(size: number): ProxyOptions {
  return { methods: [{ method: '*/Compute', maxBatchSize: size, maxWaitMs: 60_000 }] };
}
