/** The documentation keeps its word: its programs compile and print what it says, and its links lead somewhere. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { transform } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RedisServer, startRedis } from '../../packages/redis/test/support/redis-server.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
// Under the root, so that the packages are found as from a file that a reader saves there.
const scratch = join(root, 'node_modules', '.cache', 'docs');
const run = promisify(execFile);

interface Program {
  readonly where: string;
  readonly language: string;
  readonly code: string;
  /** Undefined when the page does not show what it prints. */
  readonly output: string | undefined;
  /** Other blocks of the page that begin with `// name.js`, by this name: modules that the program loads. */
  readonly modules: ReadonlyMap<string, string>;
}

function pages(): string[] {
  const inDocs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join('docs', path));
  const ofPackages = readdirSync(join(root, 'packages'))
    .map((name) => join('packages', name, 'README.md'))
    .filter((path) => path !== join('packages', 'integrations', 'README.md'));
  const ofIntegrations = readdirSync(join(root, 'packages/integrations'))
    .map((name) => join('packages/integrations', name, 'README.md'))
    .filter((path) => existsSync(join(root, path)));
  return ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...ofPackages, ...ofIntegrations, ...inDocs];
}

/** Blocks that import from one of the packages; a `text` block right after one is what it prints. */
function programsOf(page: string): Program[] {
  const text = readFileSync(join(root, page), 'utf8');
  const blocks = [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)];
  const modules = new Map<string, string>();
  return blocks.flatMap(([, language = '', code = ''], index) => {
    if (!/from '(@batchwise\/\w+|batchwise)'/.test(code)) {
      const [, name] = /^\/\/ (\w+\.js)\n/.exec(code) ?? [];
      if (name !== undefined) modules.set(name, code);
      return [];
    }
    const next = blocks[index + 1];
    const line = text.slice(0, blocks[index]?.index).split('\n').length;
    const output = next?.[1] === 'text' ? next[2] : undefined;
    return { where: `${page}:${line}`, language, code, output, modules };
  });
}

async function outputOf({ where, language, code, modules }: Program): Promise<string> {
  const folder = join(scratch, where.replace(/\W+/g, '-'));
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of modules) writeFileSync(join(folder, name), text);
  const file = join(folder, 'program.mjs');
  // A Redis of the test's own, wherever the page says that the reader's is.
  const here = code.replaceAll(READERS_REDIS, redis?.url ?? '');
  const program = language === 'ts' ? (await transform(here, { loader: 'ts', target: 'es2022' })).code : here;
  writeFileSync(file, program);
  const { stdout } = await run(process.execPath, [file], { timeout: 300_000 });
  return stdout;
}

const READERS_REDIS = 'redis://localhost:6379';
let redis: RedisServer | undefined;

// The examples of the ready-made batchers need their services: their own tests run them.
const programs = pages()
  .filter((page) => !page.startsWith('packages/integrations'))
  .flatMap(programsOf);

describe('programs', () => {
  beforeAll(async () => {
    redis = await startRedis();
  });

  afterAll(() => redis?.stop());

  test('are found', () => {
    expect(programs.length).toBeGreaterThan(25);
  });

  test.each(programs)('$where prints what the page says', async (program) => {
    const printed = await outputOf(program);
    if (program.output !== undefined) expect(printed).toBe(program.output);
  });
});

// As `tsc --init` sets them.
const STRICT = {
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  verbatimModuleSyntax: true,
  module: 'nodenext',
  target: 'esnext',
  types: ['node'],
  skipLibCheck: true,
  noEmit: true,
};

/** Other files that a block imports are compiled in examples/. */
test('TypeScript with imports from the packages compiles in a strict project', async () => {
  const folder = join(scratch, 'types');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const blocks = pages().flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/^(```|~~~)ts\n(.*?)^\1$/gms)]
      .map(([, , code = '']) => code)
      .filter((code) => /from '(@batchwise\/[\w-]+|batchwise)'/.test(code) && !/from '\./.test(code))
      .map((code, index) => ({ name: `${page.replace(/\W+/g, '-')}-${index + 1}.ts`, code })),
  );
  for (const { name, code } of blocks) writeFileSync(join(folder, name), code);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: STRICT }));
  expect(blocks.length).toBeGreaterThan(20);
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const { stdout } = await run(process.execPath, [tsc, '-p', folder]).catch((failure) => failure);
  expect(stdout).toBe('');
});

describe('links', () => {
  test.each(pages())('of %s lead to a file that is there', (page) => {
    const text = readFileSync(join(root, page), 'utf8').replace(/^```.*?^```$/gms, '');
    const targets = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, target = '']) => target);
    const local = targets.filter((target) => !/^[a-z]+:/.test(target));
    const dead = local.filter((target) => !existsSync(resolve(root, dirname(page), target)));
    expect(dead).toEqual([]);
  });
});
