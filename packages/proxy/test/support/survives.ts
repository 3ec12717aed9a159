/** Runs an attack on a separate proxy and checks that the proxy stays healthy. */
import { expect } from 'vitest';
import { besidesANeighbour } from './neighbour.js';
import { type ProxyProcess, proxyProcess } from './proxy-process.js';
import { type RawBackend, rawBackend } from './raw-backend.js';
import { rawClient } from './raw-client.js';

const MiB = 1024 * 1024;

export interface Setting {
  readonly backend: RawBackend;
  readonly proxy: ProxyProcess;
  readonly port: number;
}

/**
 * The proxy is warmed up first. During and after the attack, honest clients are served. The memory of the proxy has a limit
 * during the attack and returns to its former size after it.
 */
export async function survives(
  abuse: (setting: Setting) => Promise<void>,
  options: Parameters<typeof proxyProcess>[0] = {},
): Promise<Setting> {
  const backend = await rawBackend();
  const proxy = await proxyProcess({ targets: [backend.target], ...options });
  const setting = { backend, proxy, port: proxy.port };
  const client = rawClient(proxy.port);
  await Promise.all(Array.from({ length: 500 }, () => client.call('warm up')));
  client.destroy();
  const before = await proxy.memory();
  await besidesANeighbour(proxy.port, () => abuse(setting));
  expect(proxy.isRunning).toBe(true);
  const after = await proxy.memory();
  const grownMiB = {
    heap: (after.heapUsed - before.heapUsed) / MiB,
    peak: (after.peakRss - before.rss) / MiB,
  };
  expect(grownMiB.heap).toBeLessThan(32);
  expect(grownMiB.peak).toBeLessThan(256);
  return setting;
}

/** A hostile client that still cannot write after a few calls of honest clients is blocked by backpressure, which is allowed. */
export async function drained(port: number): Promise<void> {
  const client = rawClient(port);
  for (let count = 0; count < 20; count += 1) await client.call('tick');
  client.destroy();
}
