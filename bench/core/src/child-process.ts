/**
 * Runs a job in a fresh process. Contenders must not share a process: the inline caches and the heap of one
 * configuration change the figures of the next.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { JobName, ParamsOf, ResultOf } from './jobs.js';

const CHILD = fileURLToPath(new URL('./child.js', import.meta.url));
const TIMEOUT_MS = 120_000;

const execute = promisify(execFile);

export async function runJob<Name extends JobName>(
  name: Name,
  params: ParamsOf<Name>,
): Promise<ResultOf<Name>> {
  const args = ['--expose-gc', CHILD, name, JSON.stringify(params)];
  try {
    const { stdout } = await execute(process.execPath, args, { timeout: TIMEOUT_MS });
    return JSON.parse(stdout) as ResultOf<Name>;
  } catch (error) {
    const { stderr } = error as { readonly stderr?: string };
    throw new Error(`the job ${name} ${JSON.stringify(params)} failed: ${stderr || error}`, { cause: error });
  }
}
