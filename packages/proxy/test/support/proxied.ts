/** The proxy in this process, on a port of its own, for the test that calls this. */
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
  // What a test has left open is cut off; closing is tested where it is the subject.
  onTestFinished(() => proxy.close({ timeoutMs: 0 }));
  return { proxy, port: proxy.address.port, log };
}

/** A batch leaves when this many callers are there, and not before. */
export function batchesOf(size: number): ProxyOptions {
  return { methods: [{ method: '*/Compute', maxBatchSize: size, maxWaitMs: 60_000 }] };
}
