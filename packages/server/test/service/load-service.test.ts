import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as server from '@batchwise/server';
import { BatchwiseError } from 'batchwise';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openApiDocument } from '../../src/docs/open-api-document.js';
import { loadService } from '../../src/service/load-service.js';
import { openApiMistakes } from '../docs/support/open-api-mistakes.js';

let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'batchwise-service-'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

async function messageOf(path: string): Promise<string> {
  const error = await loadService(path).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(BatchwiseError);
  return (error as Error).message;
}

/** A module as a user writes it, which needs what the package exports. */
const isExported = 'defineService' in server;

const SERVICE = `
import { defineService, onnx } from '@batchwise/server';
import { z } from 'zod';
const input: z.ZodType<number> = z.number();
EXPORT defineService({
  name: 'small' as const,
  runners: { iris: onnx<number[], number[]>('models/iris.onnx'), other: onnx('/models/other.onnx') },
  routes: (route) => [route.post('/double', { input, handler: (n) => n * 2 })],
});
`;

test.runIf(isExported).each(['export const service =', 'export default'])(
  'a TypeScript module is loaded from anywhere, its service found as "%s" and its models beside it',
  async (how) => {
    const path = await file(`good-${how.length}.ts`, SERVICE.replace('EXPORT', how));
    const service = await loadService(path);
    expect(service.name).toBe('small');
    expect(service.runners.get('iris')).toMatchObject({ path: join(folder, 'models/iris.onnx') });
    expect(service.runners.get('other')).toMatchObject({ path: '/models/other.onnx' });
    expect(service.routes).toHaveLength(1);
  },
);

test.runIf(isExported)('the example is a service, and its document is in order', async () => {
  const example = fileURLToPath(new URL('../../../../examples/service/service.ts', import.meta.url));
  const service = await loadService(example);
  expect(service.routes.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'POST /classify',
    'POST /both',
  ]);
  const document = openApiDocument({ name: 'Batchwise', version: '1', service, models: new Map() });
  expect(openApiMistakes(document)).toEqual([]);
  expect(JSON.stringify(document)).toContain('sepal_length');
});

test('a relative model, or interpreter, of python() starts at the folder of the module', async () => {
  const path = await file(
    'python-models.ts',
    `import { defineService, python } from '@batchwise/server';
    export const service = defineService({
      runners: {
        text: python('models/text.py:Lengths', { python: '.venv', replicas: 2 }),
        other: python('/models/other.py', { python: 'python3.12' }),
      },
      routes: () => [],
    });`,
  );
  const { runners } = await loadService(path);
  expect(runners.get('text')).toMatchObject({
    kind: 'python',
    path: join(folder, 'models/text.py'),
    object: 'Lengths',
    settings: { python: join(folder, '.venv'), replicas: 2 },
  });
  expect(runners.get('other')).toMatchObject({
    path: '/models/other.py',
    settings: { python: 'python3.12' },
  });
});

test('a name that no file can have', async () => {
  await expect(loadService('serv\0ice.ts')).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringContaining('There is no service module'),
  });
});

test('a file that is not there', async () => {
  expect(await messageOf(join(folder, 'none.ts'))).toBe(
    `There is no service module ${join(folder, 'none.ts')}.`,
  );
  expect(await messageOf(folder)).toContain('There is no service module');
});

test('a module without a service is told what it exports instead', async () => {
  const other = await file(
    'other.ts',
    'export const handler = (n: number) => n; export const rows = [1, 2];',
  );
  expect(await messageOf(other)).toContain(
    'exports no service: it exports handler (a function), rows (an array of 2). Expected: export const service = defineService(',
  );
  expect(await messageOf(await file('nothing.mjs', ''))).toContain('it exports nothing.');
  const plain = await file('plain.mjs', 'export const service = { runners: {}, routes: [] };');
  expect(await messageOf(plain)).toContain('its service was not made by defineService().');
});

test('what a module throws comes with its place', async () => {
  const path = await file(
    'throws.ts',
    "const a: number = 1;\n\nfunction broken() {\n  throw new TypeError('no model here');\n}\nbroken();\n",
  );
  const message = await messageOf(path);
  expect(message).toContain('cannot be loaded: TypeError: no model here');
  expect(message).toMatch(/at broken \(.*throws\.ts:4:/);
  expect(message).not.toContain('node_modules');
});

test('of a module that stands above this package in its repository, only its own place is told', async () => {
  const path = fileURLToPath(new URL(`../../../../above-${process.pid}.ts`, import.meta.url));
  try {
    await writeFile(
      path,
      "import { onnx } from '@batchwise/server';\nonnx('a.onnx', { batchabel: true } as never);\n",
    );
    expect(await messageOf(path)).toMatch(/"batchabel"[^\n]*\n +at [^\n]*above-\d+\.ts:2:\d+\)?$/);
  } finally {
    await rm(path, { force: true });
  }
});

test("a place in the user's own packages is told, too", async () => {
  await mkdir(join(folder, 'packages/mine/src'), { recursive: true });
  await file(
    'packages/mine/src/checked.mjs',
    "export const checked = () => { throw new Error('no licence'); };",
  );
  const path = await file(
    'mine.mjs',
    "import { checked } from './packages/mine/src/checked.mjs';\nchecked();\n",
  );
  expect(await messageOf(path)).toMatch(
    /\n +at checked [^\n]*mine\/src\/checked\.mjs:1:\d+\)\n +at [^\n]*mine\.mjs:2:1/,
  );
});

test('a module that is not TypeScript, or throws no error, is told so', async () => {
  expect(await messageOf(await file('broken.ts', 'const = 3;'))).toMatch(
    /cannot be loaded: .*broken\.ts:1:6/s,
  );
  expect(await messageOf(await file('string.mjs', "throw 'just text';"))).toContain(
    'cannot be loaded: it throws "just text".',
  );
  expect(await messageOf(await file('missing.mjs', "import './gone.mjs';"))).toContain('Cannot find module');
});
