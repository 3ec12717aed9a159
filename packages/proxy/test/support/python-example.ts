/** A server of examples/python-backend in a separate process, ended after the current test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { findProgram, testPrograms } from '../../../../scripts/test-programs.js';
import { guardAgainstOrphans } from '../../../redis/test/support/orphan-guard.js';

export interface PythonExample {
  readonly port: number;
  readonly target: string;
  readonly process: ChildProcess;
}

export function examplePath(file: string): string {
  return fileURLToPath(new URL(`../../../../examples/python-backend/${file}`, import.meta.url));
}

export async function startPythonExample(file: string, args: readonly string[] = []): Promise<PythonExample> {
  const child = spawn(python(), [examplePath(file), '--port', '0', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
  });
  guardAgainstOrphans(child);
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  });
  const port = await new Promise<number>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const listening = /listening on (\d+)$/.exec(line);
      if (listening) resolve(Number(listening[1]));
    });
    child.once('exit', (code) => reject(new Error(`expected ${file} to listen, but it ended with ${code}`)));
  });
  return { port, target: `127.0.0.1:${port}`, process: child };
}

export function python(): string {
  const found = findProgram(testPrograms.python);
  if (found === undefined)
    throw new Error('expected a Python with grpc and numpy: run npm test, which installs it');
  return found;
}
