/** Every package as it would be published: whole, and with nothing that is none of its users' business. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { describe, expect, test } from 'vitest';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const packages = join(root, 'packages');
const names = ['', 'integrations']
  .flatMap((folder) => readdirSync(join(packages, folder)).map((name) => join(folder, name)))
  .filter((name) => existsSync(join(packages, name, 'package.json')));

const { version: coreVersion } = JSON.parse(readFileSync(join(packages, 'core/package.json'), 'utf8'));

/** What a package reads at run time besides its code. */
const READS: Readonly<Record<string, readonly string[]>> = {
  redis: ['lua'],
  server: ['proto'],
  cli: ['bin'],
  core: ['bin'],
};

/** The files of each package, by its folder. */
const packed = run('npm', ['pack', '--json', '--dry-run', ...names.map((name) => `./packages/${name}`)], {
  cwd: root,
  maxBuffer: 64 * 1024 * 1024,
}).then(({ stdout }) => {
  const all = JSON.parse(stdout) as { files: { path: string }[] }[];
  return new Map(names.map((name, i) => [name, all[i]?.files.map(({ path }) => path)]));
});

describe.each(names)('%s', (name) => {
  const folder = join(packages, name);

  test('has its code, what it reads, a README and a licence, and neither sources nor tests', async () => {
    const published = (await packed).get(name) ?? [];
    expect(published).toEqual(
      expect.arrayContaining(
        ['README.md', 'LICENSE', 'package.json', 'dist/index.js'].filter(
          (path) => name !== 'cli' || path !== 'dist/index.js',
        ),
      ),
    );
    for (const read of READS[name] ?? []) {
      const wanted = readdirSync(join(folder, read)).map((file) => `${read}/${file}`);
      expect(published).toEqual(expect.arrayContaining(wanted));
    }
    expect(published.filter((path) => /tsbuildinfo|tsconfig|\.test\.|^src\b|^test\b/.test(path))).toEqual([]);
  });

  test('says nothing that publint objects to', async () => {
    const { messages, pkg } = await publint({ pkgDir: folder, strict: true, pack: false });
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([]);
  });

  const isReadyMade = name.startsWith('integrations') && !name.endsWith('aws');
  test.runIf(isReadyMade)('is installed by its README with all that it needs', () => {
    const of = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const tarballs = [of.name, ...Object.keys(of.dependencies)].map(
      (dependency: string) =>
        new RegExp(`/${dependency.replace('@', '').replace('/', '-')}-\\d[\\d.]+\\.tgz`),
    );
    const [command] =
      /^npm install .*?(?=^```$)/ms.exec(readFileSync(join(folder, 'README.md'), 'utf8')) ?? [];
    for (const tarball of tarballs) expect(command).toMatch(tarball);
    for (const peer of Object.keys(of.peerDependencies ?? {})) expect(command).toContain(peer);
  });

  test.skipIf(name === 'cli')('has a CommonJS build of its entry points', async () => {
    expect((await packed).get(name)).toEqual(
      expect.arrayContaining(['dist/cjs/package.json', 'dist/cjs/index.js', 'dist/cjs/index.d.ts']),
    );
  });

  test('has the version and the licence of the others', () => {
    const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    expect({ version, license }).toEqual({ version: coreVersion, license: 'MIT' });
  });
});

test('the public API is that of etc/api', async () => {
  const check = [join(root, 'scripts/api-reports.js'), '--check'];
  const { stderr } = await run(process.execPath, check).catch((failure) => failure);
  expect(stderr).toBe('');
});
