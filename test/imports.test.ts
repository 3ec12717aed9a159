/** The map of the packages, kept: who imports whom, and how. The rules are in support/map-rules.ts. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { breaches, type Manifest, type PackageSources } from './support/map-rules.js';

const packagesFolder = fileURLToPath(new URL('../packages/', import.meta.url));

describe('in this repository', () => {
  const packages = ['', 'integrations']
    .flatMap((folder) => readdirSync(join(packagesFolder, folder)).map((name) => join(folder, name)))
    .filter((name) => existsSync(join(packagesFolder, name, 'src')));

  test('there are packages, with sources, to look at', () => {
    expect(packages).toContain('core');
    expect(Object.keys(sourcesOf('core').files)).toEqual(
      expect.arrayContaining(['index.ts', 'time/clock.ts']),
    );
  });

  test.each(packages)('%s keeps to the map', async (name) => {
    expect(await breaches(sourcesOf(name))).toEqual([]);
  });
});

describe('what breaks the rules is reported', () => {
  const server: Manifest = {
    name: '@batchwise/server',
    dependencies: { batchwise: '^0.1.0', '@batchwise/load': '^0.1.0', fastify: '^5.0.0' },
    peerDependencies: { '@batchwise/dashboard': '^0.1.0' },
  };

  test('nothing, when a package imports what is below it, by name, and has declared it', async () => {
    const code = `
      /** import { x } from '@batchwise/cli'; */
      import { Batcher } from 'batchwise';
      import { pages } from '@batchwise/dashboard';
      import fastify from 'fastify';
      import { readFile } from 'node:fs/promises';
      import type { Route } from '../route.js';
      export const load = (path: string) => import(path);
      export const later = () => setTimeout(() => 'import "@batchwise/cli"', 10);`;
    expect(await breaches({ manifest: server, files: { 'http/server.ts': code } })).toEqual([]);
  });

  test.each([
    ["import { x } from '../../core/src/queue.js';", "'../../core/src/queue.js' leaves the package's src"],
    ["import '/absolute.js';", "'/absolute.js' leaves the package's src"],
    [
      "import type { X } from '@batchwise/load';",
      "'@batchwise/load' is not below @batchwise/server on the map",
    ],
    ["export { run } from '@batchwise/cli';", "'@batchwise/cli' is not below @batchwise/server on the map"],
    [
      "export * from 'batchwise/src/queue.js';",
      "'batchwise/src/queue.js' reaches into batchwise; import it by its name",
    ],
    [
      "import { adaptiveWithout } from 'batchwise/internal';",
      "'batchwise/internal' reaches into batchwise; import it by its name",
    ],
    ["const x = await import('pino');", "'pino' is not among the dependencies of @batchwise/server"],
    ["import type X from '@scope/x/y';", "'@scope/x/y' is not among the dependencies of @batchwise/server"],
    [
      "import { x } from '@batchwise/runners';",
      "'@batchwise/runners' is not among the dependencies of @batchwise/server",
    ],
  ])('%s', async (code, wrong) => {
    expect(await breaches({ manifest: server, files: { 'server.ts': code } })).toEqual([
      `server.ts: ${wrong}`,
    ]);
  });

  test('a way out of src is found from any depth, and a way within it is none', async () => {
    const files = { 'a/b/c.ts': "import '../../d.js';", 'a/b/e.tsx': "import '../../../d.js'; <p>…</p>;" };
    expect(await breaches({ manifest: server, files })).toEqual([
      "a/b/e.tsx: '../../../d.js' leaves the package's src",
    ]);
  });

  test('a package that is not on the map', async () => {
    expect(await breaches({ manifest: { name: '@batchwise/extras' }, files: {} })).toEqual([
      'package.json: the package is not on the map; add it to LAYERS',
    ]);
  });

  describe('in core', () => {
    const core: Manifest = { name: 'batchwise' };

    test('dependencies', async () => {
      expect(await breaches({ manifest: { ...core, dependencies: {} }, files: {} })).toEqual([
        'package.json: core has dependencies',
      ]);
    });

    test.each(['node:events', 'dataloader', '@batchwise/runners', 'batchwise'])(
      'an import of %s',
      async (specifier) => {
        const manifest = { ...core, peerDependencies: { [specifier]: '*' } };
        expect(await breaches({ manifest, files: { 'queue.ts': `import '${specifier}';` } })).toEqual([
          `queue.ts: '${specifier}' is outside of core, which imports nothing`,
        ]);
      },
    );

    test.each([
      ['Date.now();', 'Date'],
      ['globalThis.performance.now();', 'performance'],
      ['const { now } = performance;', 'performance'],
      ['setTimeout(f, 1);', 'setTimeout'],
      ['setInterval(f, 1);', 'setInterval'],
      ['globalThis.setImmediate?.(f);', 'setImmediate'],
    ])('time, anywhere but in the clock: %s', async (code, name) => {
      expect(await breaches({ manifest: core, files: { 'time/clock.ts': code, 'queue.ts': code } })).toEqual([
        `queue.ts: ${name} belongs in time/clock.ts only`,
      ]);
    });
  });
});

function sourcesOf(name: string): PackageSources {
  const folder = join(packagesFolder, name);
  const src = join(folder, 'src');
  const paths = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /\.tsx?$/.test(path),
  );
  return {
    manifest: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')),
    files: Object.fromEntries(
      paths.map((path) => [path.split(sep).join('/'), readFileSync(join(src, path), 'utf8')]),
    ),
  };
}
