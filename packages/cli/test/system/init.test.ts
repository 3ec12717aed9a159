/** `batchwise init` in an empty folder: its test passes, its types are strict, and the service answers. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { root, Serving } from './support/serving.js';

const bin = join(root, 'packages/cli/bin/batchwise.js');
const FILES = ['batchwise.yaml', 'package.json', 'service.test.mjs', 'service.ts', 'tsconfig.json'];

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'batchwise-init-'));
});

afterEach(async () => {
  await Serving.endAll();
  rmSync(folder, { recursive: true });
});

function init(cwd: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, 'init', ...args], {
    cwd,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

test('the new service passes its test and a strict type check, and serves', async () => {
  const { status, stdout } = init(folder, 'My service');
  expect(status).toBe(0);
  expect(stdout).toMatch(/Next:\n {2}cd 'My service'\n {2}npm install\n {2}npm test\n {2}npm start\n/);
  const cwd = join(folder, 'My service');
  expect(readdirSync(cwd).sort()).toEqual(FILES);
  expect(JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8'))).toMatchObject({ name: 'my-service' });

  symlinkSync(join(root, 'node_modules'), join(cwd, 'node_modules'));
  const { NODE_OPTIONS: _, ...env } = process.env;
  expect(execFileSync('npm', ['test'], { cwd, encoding: 'utf8', env })).toMatch(/pass 3\n/);
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', cwd], { cwd, env });

  const server = await Serving.start(['-c', join(cwd, 'batchwise.yaml')]);
  const answer = await server.client.post('/count', { text: 'three short words' });
  expect(JSON.parse(String(answer.body))).toEqual({ words: 3 });
});

describe('existing files', () => {
  test('are named, and nothing is created', () => {
    writeFileSync(join(folder, 'service.ts'), 'mine');
    expect(init(folder)).toEqual({
      status: 1,
      stdout: '',
      stderr: 'error: service.ts already exists. Nothing was created.\n',
    });
    expect(readdirSync(folder)).toEqual(['service.ts']);
  });

  test('package.json and tsconfig.json are kept', () => {
    const kept = ['package.json', 'tsconfig.json'];
    for (const name of kept) writeFileSync(join(folder, name), '{}');
    expect(init(folder).stdout).toMatch(/npm install @batchwise\/cli .*\n {2}node --test\n/);
    expect(readdirSync(folder).sort()).toEqual(FILES);
    for (const name of kept) expect(readFileSync(join(folder, name), 'utf8')).toBe('{}');
  });

  test('a file in the place of the folder is an error', () => {
    mkdirSync(join(folder, 'sub'));
    writeFileSync(join(folder, 'sub/file'), '');
    expect(init(folder, 'sub/file')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^error: The files cannot be created: E/),
    });
  });
});
