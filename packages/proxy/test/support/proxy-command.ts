/** `batchwise proxy`: the built command in a separate process, on a free port. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { type Child, startChild } from '../../../redis/test/support/child.js';
import { eventually } from '../../../redis/test/support/eventually.js';

const cli = new URL('../../../cli/', import.meta.url);

/** Ended after the current test. */
export async function proxyCommand(...args: readonly string[]): Promise<{ child: Child; port: number }> {
  if (!existsSync(new URL('dist/main.js', cli)))
    throw new Error('batchwise is not built: run npm run build first.');
  const child = startChild(fileURLToPath(new URL('bin/batchwise.js', cli)), {
    args: ['proxy', '--port', '0', '--no-admin', ...args],
  });
  onTestFinished(() => child[Symbol.asyncDispose]());
  const port = await eventually('the proxy to log its address', () => {
    if (!child.isRunning) throw new Error(`expected a proxy that runs, got ${child.output}`);
    return Number(/ at 127\.0\.0\.1:(\d+)/.exec(child.output)?.[1] ?? 0) || undefined;
  });
  return { child, port };
}
