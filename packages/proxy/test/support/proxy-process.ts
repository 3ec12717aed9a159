/** Controls programs/proxy.mjs: the built proxy in a separate process. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ProxyOptions } from '@batchwise/proxy';
import { onTestFinished } from 'vitest';
import { type Child, startChild } from '../../../redis/test/support/child.js';

const program = fileURLToPath(new URL('programs/proxy.mjs', import.meta.url));
const built = fileURLToPath(new URL('../../dist/index.js', import.meta.url));

export interface Memory {
  readonly rss: number;
  readonly heapUsed: number;
  /** The peak. */
  readonly peakRss: number;
}

/** Ended after the current test. */
export async function proxyProcess(options: ProxyOptions): Promise<ProxyProcess> {
  if (!existsSync(built)) throw new Error('the proxy is not built: run npm run build first.');
  const child = startChild(program, { args: [JSON.stringify(options)], execArgv: ['--expose-gc'] });
  onTestFinished(() => child[Symbol.asyncDispose]());
  const { port } = await child.until<{ type: string; port: number }>(({ type }) => type === 'listening');
  return new ProxyProcess(child, port);
}

export class ProxyProcess {
  readonly port: number;
  readonly child: Child;

  constructor(child: Child, port: number) {
    this.child = child;
    this.port = port;
  }

  get isRunning(): boolean {
    return this.child.isRunning;
  }

  /** After garbage collection. */
  async memory(): Promise<Memory> {
    const from = this.child.messages.length;
    this.child.send({});
    return this.child.until<Memory & { type: string }>(({ type }) => type === 'memory', from);
  }
}
