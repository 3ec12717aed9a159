/** The package as those who install it get it. Runs on the built files: `npm run build` first. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const core = join(root, 'packages/core');

const PROGRAM = `
  const { Batcher } = await import('batchwise');
  const squares = new Batcher(async (numbers) => numbers.map((n) => n * n));
  console.log(await Promise.all([squares.submit(2), squares.submit(3)]));
  await squares.close();`;

/** A folder with nothing in it but the package, installed. */
let elsewhere: string;
let installed: string;
let published: string[];

beforeAll(async () => {
  if (!existsSync(join(core, 'dist/index.js')))
    throw new Error('packages/core is not built: run npm run build.');
  elsewhere = await mkdtemp(join(tmpdir(), 'batchwise-packaging-'));
  const pack = ['pack', '--json', '-w', 'batchwise', '--pack-destination', elsewhere];
  const { stdout } = await run('npm', pack, { cwd: root });
  const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  published = files.map(({ path }) => path);
  installed = join(elsewhere, 'node_modules/batchwise');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', join(elsewhere, filename), '--strip-components=1', '-C', installed]);
});

afterAll(async () => {
  if (elsewhere !== undefined) await rm(elsewhere, { recursive: true, force: true });
});

test('the workspace imports the package by its name', async () => {
  expect(await node(root, PROGRAM)).toBe('[ 4, 9 ]\n');
});

test('the packed package works where nothing else is installed', async () => {
  expect(await node(elsewhere, PROGRAM)).toBe('[ 4, 9 ]\n');
});

test('the example of the README prints what the README says', async () => {
  const readme = await readFile(join(installed, 'README.md'), 'utf8');
  const [, program, output] = /```js\n(.*?)```.*?```\n(.*?)```/s.exec(readme) ?? [];
  expect(await node(elsewhere, program ?? '')).toBe(output);
});

test('it holds what its users need, and nothing else', () => {
  expect(published).toEqual(
    expect.arrayContaining(['dist/index.js', 'dist/index.d.ts', 'README.md', 'LICENSE', 'package.json']),
  );
  const surplus = published.filter(
    (path) => !/^(dist\/([\w-]+\/)*[\w-]+\.(js|js\.map|d\.ts)|(dist\/cjs|bin|)\/?[\w.]+)$/.test(path),
  );
  expect(surplus).toEqual([]);
  expect(published.filter((path) => /tsbuildinfo|tsconfig|\.test\.|^src\b|^test\b/.test(path))).toEqual([]);
});

test('its source maps carry their sources, which are not published', async () => {
  const maps = published.filter((path) => path.endsWith('.js.map'));
  expect(maps).not.toEqual([]);
  for (const path of maps) {
    const map = JSON.parse(await readFile(join(installed, path), 'utf8')) as { sourcesContent?: string[] };
    expect(map.sourcesContent, path).toHaveLength(1);
  }
});

/** Runs a module as if it were a file in that folder, and gives what it printed. */
async function node(folder: string, program: string): Promise<string> {
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: folder });
  return stdout;
}
