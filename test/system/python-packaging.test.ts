/** Installed packages serve Python models, without the repository. Runs on the built files. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { findProgram, testPrograms } from '../../scripts/test-programs.js';
import { installPackages, linkPackages } from '../support/installed-packages.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));

const MODEL =
  'def lengths(texts: list[str]) -> list[dict]:\n    return [{"length": len(text)} for text in texts]\n';

/** Our packages from their tarballs; other packages as they are installed here. */
let elsewhere: string;

beforeAll(async () => {
  elsewhere = mkdtempSync(join(tmpdir(), 'batchwise-installed-'));
  await installPackages(elsewhere);
  linkPackages(elsewhere);
  writeFileSync(join(elsewhere, 'model.py'), MODEL);
});

afterAll(() => {
  if (elsewhere !== undefined) rmSync(elsewhere, { recursive: true, force: true });
});

test('the Python package is in the tarball, also of npm pack without scripts', async () => {
  // A prepack script added it, which npm skips with ignore-scripts: `npm pack` and `npm publish` left it out.
  const folder = (path: string) => readdirSync(path).filter((name) => name !== '__pycache__');
  const files = folder(join(root, 'python/batchwise'));
  expect(folder(join(elsewhere, 'node_modules/@batchwise/runners/python/batchwise'))).toEqual(files);
  const pack = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const { stdout } = await run('npm', pack, { cwd: join(root, 'packages/runners') });
  const [{ files: packed }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  const prefix = 'python/batchwise/';
  const names = packed.flatMap(({ path }) => (path.startsWith(prefix) ? path.slice(prefix.length) : []));
  expect(names.sort()).toEqual(files.sort());
});

test('an installed batchwise serves model.py', async () => {
  const bin = join(elsewhere, 'node_modules/@batchwise/cli/bin/batchwise.js');
  const python = findProgram(testPrograms.python) ?? 'python3';
  const server: ChildProcess = spawn(process.execPath, [bin, 'serve', 'model.py', '--port', '0'], {
    cwd: elsewhere,
    env: { ...process.env, BATCHWISE__RUNNERS__PYTHON: python, PYTHONPATH: '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(server, 'exit');
  onTestFinished(() => void server.kill('SIGKILL'));
  const url = await urlOf(server);
  const response = await fetch(`${url}/v1/models/model:predict`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ instances: ['one', 'three'] }),
  });
  expect(await response.json()).toEqual({ predictions: [{ length: 3 }, { length: 5 }] });
  server.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
});

async function urlOf({ stdout }: ChildProcess): Promise<string> {
  for await (const line of createInterface(stdout as NodeJS.ReadableStream)) {
    const [, url] = / at (http:\S+)$/.exec(line) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error('The server ended before it was ready.');
}
