/** The documentation keeps its word: its programs print what it says, and its links lead somewhere. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
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
}

function pages(): string[] {
  const inDocs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join('docs', path));
  const ofPackages = readdirSync(join(root, 'packages')).map((name) => join('packages', name, 'README.md'));
  return ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...ofPackages, ...inDocs];
}

/** Blocks that import from one of the packages; a `text` block right after one is what it prints. */
function programsOf(page: string): Program[] {
  const text = readFileSync(join(root, page), 'utf8');
  const blocks = [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)];
  return blocks.flatMap(([, language = '', code = ''], index) => {
    if (!/from '(@batchwise\/\w+|batchwise)'/.test(code)) return [];
    const next = blocks[index + 1];
    const line = text.slice(0, blocks[index]?.index).split('\n').length;
    return { where: `${page}:${line}`, language, code, output: next?.[1] === 'text' ? next[2] : undefined };
  });
}

async function outputOf({ where, language, code }: Program): Promise<string> {
  mkdirSync(scratch, { recursive: true });
  const file = join(scratch, `${where.replace(/\W+/g, '-')}.mjs`);
  // A Redis of the test's own, wherever the page says that the reader's is.
  const here = code.replaceAll(READERS_REDIS, redis?.url ?? '');
  const program = language === 'ts' ? (await transform(here, { loader: 'ts', target: 'es2022' })).code : here;
  writeFileSync(file, program);
  const { stdout } = await run(process.execPath, [file], { timeout: 300_000 });
  return stdout;
}

const READERS_REDIS = 'redis://localhost:6379';
let redis: RedisServer | undefined;

const programs = pages().flatMap(programsOf);

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

describe('links', () => {
  test.each(pages())('of %s lead to a file that is there', (page) => {
    const text = readFileSync(join(root, page), 'utf8').replace(/^```.*?^```$/gms, '');
    const targets = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, target = '']) => target);
    const local = targets.filter((target) => !/^[a-z]+:/.test(target));
    const dead = local.filter((target) => !existsSync(resolve(root, dirname(page), target)));
    expect(dead).toEqual([]);
  });
});
