/** The models of examples/python-models, trained and served as its README says. Needs the build. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findProgram, testPrograms } from '../../scripts/test-programs.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const python = findProgram(testPrograms.python) ?? 'python3';
const names = ['iris', 'text', 'network'];

let folder: string;
let server: ChildProcess;
let url: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'batchwise-python-models-'));
  cpSync(join(root, 'examples/python-models'), folder, { recursive: true });
  execFileSync(python, ['train_iris.py'], { cwd: folder });
  const files = names.map((name) => `${name}.py`);
  const bin = join(root, 'packages/cli/bin/batchwise.js');
  server = spawn(process.execPath, [bin, 'serve', ...files, '--port', '0'], {
    cwd: folder,
    env: { ...process.env, BATCHWISE__RUNNERS__PYTHON: python },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface(server.stdout as NodeJS.ReadableStream)) {
    url = / at (http:\S+)$/.exec(line)?.[1] ?? '';
    if (url !== '') return;
  }
  throw new Error('The server ended before it was ready.');
});

afterAll(async () => {
  if (server?.exitCode === null) {
    const exited = once(server, 'exit');
    server.kill();
    await exited;
  }
  if (folder !== undefined) rmSync(folder, { recursive: true });
});

async function predict<T>(model: string, instances: readonly unknown[]): Promise<T[]> {
  const response = await fetch(`${url}/v1/models/${model}:predict`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ instances }),
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { predictions: T[] }).predictions;
}

test('the function rates reviews', async () => {
  const reviews = [{ text: 'A great phone with a bad camera' }, { text: 'Awful' }];
  expect(await predict('text', reviews)).toEqual([{ score: 1 }, { score: -2 }]);
});

test('the network returns ten numbers for each row', async () => {
  const row = Array.from({ length: 64 }, (_, i) => i);
  const [first, second] = await predict<number[]>('network', [row, row.map(() => 0)]);
  expect(first).toHaveLength(10);
  expect(second).toEqual(new Array(10).fill(0));
});

test('the trained model recognises the species', async () => {
  const [setosa = [], virginica = []] = await predict<number[]>('iris', [
    [5.1, 3.5, 1.4, 0.2],
    [6.5, 3.2, 5.1, 2.0],
  ]);
  expect(setosa.indexOf(Math.max(...setosa))).toBe(0);
  expect(virginica.indexOf(Math.max(...virginica))).toBe(2);
});

test('each model has at most ten lines of Python', () => {
  for (const name of [...names, 'network_torch'])
    expect(
      readFileSync(join(folder, `${name}.py`), 'utf8')
        .trimEnd()
        .split('\n').length,
      name,
    ).toBeLessThanOrEqual(10);
});
