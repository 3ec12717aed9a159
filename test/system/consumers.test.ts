/** Every package in the projects of its users: TypeScript, CommonJS, Jest, bundlers, Bun, Deno, other versions of Node. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RedisServer, startRedis } from '../../packages/redis/test/support/redis-server.js';
import { findProgram, testPrograms } from '../../scripts/test-programs.js';
import {
  type InstalledPackage,
  installPackages,
  linkPackages,
  packageFolders,
} from '../support/installed-packages.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const consumers = join(root, 'test/consumers');
const program = (path: string) => join(consumers, 'node_modules', path);

/** Installed as by `npm install`: our tarballs and their dependencies, without the optional onnxruntime-node. */
let project: string;
let packages: InstalledPackage[];
let entries: string[];

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'batchwise-consumers-'));
  packages = await installPackages(project);
  entries = packages.flatMap((one) => one.entries);
  linkPackages(project, { from: consumers });
  linkPackages(project, { except: ['onnxruntime-node'] });
});

afterAll(() => {
  if (project !== undefined) rmSync(project, { recursive: true, force: true });
});

const SQUARES = `
const squares = new Batcher(async (numbers) => numbers.map((n) => n * n));
Promise.all([squares.submit(2), squares.submit(3)]).then((answers) => console.log(answers.join()));`;

describe('TypeScript', () => {
  const TYPED = `
    import { Batcher, BatchwiseError } from 'batchwise';
    const lengths = new Batcher(async (words: string[]) => words.map((word) => word.length));
    export const answer: Promise<number> = lengths.submit('three');
    // @ts-expect-error an item must be what the handler takes
    lengths.submit(3);
    export const codeOf = (error: unknown) => (error instanceof BatchwiseError ? error.code : undefined);`;

  const tsc5 = program('typescript/bin/tsc');
  const tsc7 = join(root, 'node_modules/typescript/bin/tsc');

  // TypeScript 5 takes 10 seconds, and as many to check the declarations; 7 takes one, and has removed node10.
  test.each([
    { title: 'nodenext', module: 'nodenext', resolution: 'nodenext', file: 'program.mts', tsc: [tsc7] },
    {
      title: 'nodenext, CommonJS',
      module: 'nodenext',
      resolution: 'nodenext',
      file: 'program.cts',
      tsc: [tsc7],
    },
    {
      title: 'node16, CommonJS',
      module: 'node16',
      resolution: 'node16',
      file: 'program.cts',
      tsc: [tsc5, tsc7],
    },
    { title: 'bundler', module: 'esnext', resolution: 'bundler', file: 'program.ts', tsc: [tsc7] },
    { title: 'node10, CommonJS', module: 'commonjs', resolution: 'node10', file: 'program.cts', tsc: [tsc5] },
  ])('compiles with $title', async ({ title, module, resolution, file, tsc }) => {
    const folder = join(project, title.replaceAll(/\W+/g, '-'));
    mkdirSync(folder);
    // The subpath of core is for our packages; node10 knows no subpaths.
    const imports = entries
      .filter((entry) => resolution !== 'node10' || entry !== 'batchwise/internal')
      .map((entry, i) => `import * as p${i} from '${entry}';\nexport const e${i} = Object.keys(p${i});`);
    writeFileSync(join(folder, file), [...imports, TYPED].join('\n'));
    const compilerOptions = {
      ...{ strict: true, noEmit: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
      ...{ module, moduleResolution: resolution, esModuleInterop: true, types: ['node'] },
      ...{ target: 'es2022', lib: ['es2023', 'esnext.disposable'] },
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['.'] }));
    for (const compiler of tsc) {
      const options = compiler === tsc5 ? ['--skipLibCheck'] : [];
      expect(await outputOf(process.execPath, [compiler, '-p', folder, ...options])).toBe('');
    }
  });

  test('attw finds the types that belong to each module format', async () => {
    for (const { name, tarball } of packages) {
      const analysis = await checkPackage(createPackageFromTarballData(readFileSync(tarball)), {
        excludeEntrypoints: ['./internal', './package.json'],
      });
      expect([name, 'problems' in analysis ? analysis.problems : []]).toEqual([name, []]);
    }
  });
});

describe.each([
  ['this Node', process.execPath],
  ['Node 22', program('node22/bin/node')],
  ['Node 24', program('node24/bin/node')],
])('%s', (_, node) => {
  const isThere = existsSync(node);

  test.runIf(isThere)('imports and requires every package, as one copy and without a warning', async () => {
    const script = `
      const assert = require('node:assert');
      (async () => {
        for (const entry of ${JSON.stringify(entries)}) {
          const [required, imported] = [require(entry), await import(entry)];
          for (const name of Object.keys(imported)) assert.equal(required[name], imported[name], entry + ' ' + name);
          assert.notEqual(Object.keys(imported).length, 0, entry);
        }
        const { Batcher } = require('batchwise');${SQUARES}
      })();`;
    writeFileSync(join(project, 'required.cjs'), script);
    expect(await outputOf(node, ['required.cjs'])).toBe('4,9\n');
  });

  test.runIf(isThere)('runs the command of an installed package', async () => {
    const printed = await outputOf(node, [
      join(project, 'node_modules/batchwise/bin/batchwise.js'),
      '--version',
    ]);
    expect(printed).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe('Jest in CommonJS', () => {
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterAll(() => redis?.stop());

  // Jest does not know the condition module-sync: it loads the CommonJS build, also what that finds beside it.
  test('loads every package, and runs threads, files and scripts of theirs', async () => {
    const folder = join(project, 'jest');
    mkdirSync(folder);
    writeFileSync(
      join(folder, 'all.test.js'),
      `
      test.each(${JSON.stringify(entries)})('%s', (entry) => {
        expect(require.resolve(entry)).toMatch(/dist.cjs/);
        expect(Object.keys(require(entry))).not.toEqual([]);
      });
      test('a batch', async () => {
        const { Batcher, BatchwiseError } = require('batchwise');
        const doubles = new Batcher(async (numbers) => numbers.map((n) => n < 0 ? new Error('negative') : 2 * n));
        expect(await doubles.submitMany([1, 2])).toEqual([2, 4]);
        await expect(doubles.submit(-1)).rejects.toThrow('negative');
        await doubles.close();
        await expect(doubles.submit(1)).rejects.toBeInstanceOf(BatchwiseError);
      });
      test('a thread', async () => {
        const { workerPool } = require('@batchwise/runners');
        const { pathToFileURL } = require('node:url');
        const pool = workerPool(pathToFileURL(require.resolve('./model.mjs')), { threads: 1 });
        const { Batcher } = require('batchwise');
        const batcher = new Batcher(pool);
        expect(await batcher.submit(20)).toBe(40);
        await batcher.close();
        await pool.close();
      });
      test('scripts of Redis', async () => {
        const { RedisBatcher, RedisProcessor } = require('@batchwise/redis');
        const url = ${JSON.stringify(redis.url)};
        const processor = new RedisProcessor((numbers) => numbers.map((n) => 2 * n), { url, queue: 'jest' });
        const batcher = new RedisBatcher({ url, queue: 'jest' });
        expect(await batcher.submit(21)).toBe(42);
        await batcher.close();
        await processor.close();
      });
      test('a server and a process', async () => {
        const { loadConfig, serve } = require('@batchwise/server');
        const flags = { models: [require.resolve('./total.py')], port: 0 };
        const server = await serve({ load: (runnerNames) => loadConfig({ flags, runnerNames }) });
        const origin = 'http://127.0.0.1:' + server.address.port;
        const answer = await fetch(origin + '/v1/models/total:predict', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ instances: [[1, 2]] }),
        });
        expect(await answer.json()).toEqual({ predictions: [3] });
        for (const page of ['/docs', '/dashboard', '/metrics']) expect((await fetch(origin + page)).status).toBe(200);
        await server.stop();
      });
      `,
    );
    writeFileSync(
      join(folder, 'model.mjs'),
      'export const handler = (numbers) => numbers.map((n) => 2 * n);\nexport default handler;\n',
    );
    writeFileSync(join(folder, 'total.py'), 'def total(rows):\n    return [sum(row) for row in rows]\n');
    writeFileSync(join(folder, 'package.json'), '{}');
    const jest = [
      program('jest/bin/jest.js'),
      '--ci',
      '--rootDir',
      folder,
      '--watchman=false',
      '--forceExit',
    ];
    const env = { ...process.env, BATCHWISE__RUNNERS__PYTHON: findProgram(testPrograms.python) };
    const { stdout, stderr } = await run(process.execPath, jest, { cwd: folder, env }).catch(
      (error) => error,
    );
    expect(`${stdout}${stderr}`).toMatch(/Tests: +\d+ passed, \d+ total/);
  });

  test('the CommonJS build exports what the ES modules export', async () => {
    const require = createRequire(join(project, 'package.json'));
    for (const entry of entries) {
      const [name, subpath = 'index'] = entry.split(/(?<=batchwise)\/(?=internal$)/);
      const commonJs = require(join(project, 'node_modules', name as string, `dist/cjs/${subpath}.js`));
      const script = `console.log(Object.keys(await import('${entry}')).join())`;
      const names = await outputOf(process.execPath, ['--input-type=module', '-e', script]);
      expect([entry, Object.keys(commonJs).sort().join()]).toEqual([entry, names.trim()]);
    }
  });
});

test('esbuild bundles the library for browsers, without anything of Node', async () => {
  const { outputFiles } = await build({
    stdin: { contents: `import { Batcher } from 'batchwise';${SQUARES}`, resolveDir: project },
    bundle: true,
    write: false,
    format: 'iife',
    platform: 'browser',
  });
  const printed: string[] = [];
  const finished = new Promise<void>((resolve) => {
    const console = { log: (line: string) => resolve(void printed.push(line)) };
    const { setTimeout, clearTimeout, performance, AbortSignal, AbortController } = globalThis;
    const { EventTarget, MessageChannel } = globalThis;
    const timers = { setTimeout, clearTimeout, performance, MessageChannel };
    const browser = { console, ...timers, AbortSignal, AbortController, EventTarget };
    runInNewContext(outputFiles[0]?.text ?? '', browser);
  });
  await finished;
  expect(printed).toEqual(['4,9']);
});

describe.each([
  ['Bun', program('bun/bin/bun'), ['run']],
  [
    'Deno',
    program('deno/deno'),
    ['run', '--allow-read', '--allow-env', '--no-lock', '--node-modules-dir=manual'],
  ],
])('%s', (_, runtime, options) => {
  test.runIf(existsSync(runtime))('runs the library and packages without a driver', async () => {
    // Bun loads the CommonJS build by require(): an error is one of the class of either copy.
    writeFileSync(
      join(project, 'runtime.mjs'),
      `import { createRequire } from 'node:module';
      import { Batcher, BatchwiseError } from 'batchwise';
      const required = createRequire(import.meta.url)('batchwise');
      const error = new required.BatchwiseError('CLOSED', 'closed');
      if (!(error instanceof BatchwiseError)) throw new Error('not one class');
      import { DataLoader } from '@batchwise/dataloader';
      import '@batchwise/fetch';
      const users = new DataLoader(async (keys) => keys.map((key) => 'user ' + key));
      console.log((await Promise.all([users.load(1), users.load(2)])).join());${SQUARES}`,
    );
    expect(await outputOf(runtime, [...options, 'runtime.mjs'])).toBe('user 1,user 2\n4,9\n');
  });
});

describe('the command', () => {
  const serve = (folder: string) => [
    join(folder, 'node_modules/batchwise/bin/batchwise.js'),
    'serve',
    'iris.onnx',
  ];

  test('of the library alone names the package to install', async () => {
    const alone = join(project, 'alone');
    mkdirSync(join(alone, 'node_modules'), { recursive: true });
    const { folder } = packages.find(({ name }) => name === 'batchwise') as InstalledPackage;
    await run('cp', ['-r', folder, join(alone, 'node_modules/batchwise')]);
    // A folder above has the command: a resolution from the link must not find it.
    const bare = mkdtempSync(join(tmpdir(), 'batchwise-alone-'));
    try {
      await run('mv', [join(alone, 'node_modules'), bare]);
      const failure = await run(process.execPath, serve(bare), { cwd: bare }).catch((error) => error);
      expect(failure.code).toBe(1);
      expect(failure.stderr).toContain('npm install batchwise @batchwise/cli');
      expect(failure.stderr).toContain('npx @batchwise/cli serve iris.onnx');
    } finally {
      rmSync(bare, { recursive: true, force: true });
    }
  });

  test('says how to install the runtime of an ONNX model, and finds it in the working directory', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'batchwise-onnx-'));
    try {
      symlinkSync(join(root, 'models/iris.onnx'), join(elsewhere, 'iris.onnx'));
      const options = [...serve(project), '--port', '0'];
      const failure = await run(process.execPath, options, { cwd: elsewhere }).catch((error) => error);
      expect(failure.code).toBe(1);
      expect(failure.stderr).toContain('npm install --ignore-scripts onnxruntime-node@1.30');

      // Root cause: an installed runtime that could not be loaded was reported as missing.
      const broken = join(project, 'node_modules/onnxruntime-node');
      mkdirSync(broken);
      writeFileSync(join(broken, 'package.json'), '{ "main": "index.js" }');
      writeFileSync(join(broken, 'index.js'), "throw new Error('no library for this platform');");
      const unloaded = await run(process.execPath, options, { cwd: elsewhere }).catch((error) => error);
      expect(unloaded.stderr).toContain('cannot be loaded: no library for this platform');
      rmSync(broken, { recursive: true });

      // A command of the whole machine, and a project with the runtime.
      mkdirSync(join(elsewhere, 'node_modules'));
      for (const name of ['onnxruntime-node', 'onnxruntime-common'])
        symlinkSync(join(root, 'node_modules', name), join(elsewhere, 'node_modules', name));
      const server = spawn(process.execPath, options, {
        cwd: elsewhere,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const exited = once(server, 'exit');
      for await (const line of createInterface(server.stdout)) if (/ at http:/.test(line)) break;
      server.kill('SIGTERM');
      expect(await exited).toEqual([0, null]);
    } finally {
      rmSync(elsewhere, { recursive: true, force: true });
    }
  });
});

test('every package names its repository, its home page and where to report defects', () => {
  const require = createRequire(import.meta.url);
  for (const folder of packageFolders) {
    const { homepage, repository, bugs, keywords, publishConfig } = require(
      join(root, folder, 'package.json'),
    );
    expect({ homepage, repository, bugs, publishConfig }).toEqual({
      homepage: `https://github.com/batchwise/batchwise/tree/main/${folder}#readme`,
      repository: { type: 'git', url: 'git+https://github.com/batchwise/batchwise.git', directory: folder },
      bugs: 'https://github.com/batchwise/batchwise/issues',
      publishConfig: { access: 'public' },
    });
    expect(keywords).toContain('batching');
  }
});

/** What a program prints, on both streams. */
async function outputOf(file: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, NO_COLOR: '1' };
  const { stdout, stderr } = await run(file, args, { cwd: project, env }).catch((failure) => ({
    stdout: failure.stdout || failure.message,
    stderr: failure.stderr,
  }));
  return `${stderr}${stdout}`;
}
