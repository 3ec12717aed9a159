/** dynamic_batcher, in Python: both sides are scripts in `peers/dynamic-batcher`. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { MAX_BATCH_SIZE } from './item.js';
import type { Redis } from './redis.js';
import { SideProcess } from './side-process.js';
import type { Sides } from './sides.js';

export const DYNAMIC_BATCHER = 'dynamic_batcher';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const PEER = `${ROOT}bench/redis/peers/dynamic-batcher/`;
const PYTHON = `${ROOT}node_modules/.cache/bench-peers/dynamic-batcher/bin/python`;
const INSTALL_WITHIN_MS = 180_000;

/** Installs it where it is not; why it could not, if so. */
export async function whyNoDynamicBatcher(): Promise<string | undefined> {
  try {
    if (!existsSync(PYTHON) || !(await canImport())) {
      await promisify(execFile)(`${PEER}install`, { timeout: INSTALL_WITHIN_MS });
    }
    return undefined;
  } catch (error) {
    const { stderr = '' } = error as { readonly stderr?: string };
    const lastLine = stderr.trim().split('\n').at(-1) || (error as Error).message;
    return `dynamic_batcher could not be installed: ${lastLine}`;
  }
}

/** An installation that was cut short leaves a Python behind, but no package. */
async function canImport(): Promise<boolean> {
  return promisify(execFile)(PYTHON, ['-c', 'import dynamic_batcher']).then(
    () => true,
    () => false,
  );
}

export const dynamicBatcherSides: Sides = {
  client: (redis, load) => python(redis, 'client.py', JSON.stringify(load)),
  processor: (redis, batchMs) => python(redis, 'processor.py', String(batchMs)),
};

function python({ port }: Redis, script: string, argument: string): SideProcess {
  return new SideProcess(PYTHON, [PEER + script, argument], {
    REDIS__HOST: '127.0.0.1',
    REDIS__PORT: String(port),
    DYNAMIC_BATCHER__BATCH_SIZE: String(MAX_BATCH_SIZE),
    PYTHONDONTWRITEBYTECODE: '1',
  });
}
