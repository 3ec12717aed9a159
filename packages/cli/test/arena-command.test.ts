import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommandLine } from '../src/command-line.js';
import { formatLeft } from '../src/plan/arena-progress.js';
import { fakeTerminal } from './support/fake-terminal.js';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'batchwise-arena-'));
});

afterAll(() => rmSync(folder, { recursive: true }));

function scenario(fields: object | string): string {
  const path = join(folder, 'mine.json');
  const least = {
    curve: 'a',
    arrivals: { kind: 'poisson', load: 0.5 },
    items: 300,
    policies: ['adaptive', 'greedy'],
  };
  writeFileSync(path, typeof fields === 'string' ? fields : JSON.stringify({ ...least, ...fields }));
  return path;
}

/** In this thread: worker threads need built files. */
async function arena(args: readonly string[], options: Parameters<typeof fakeTerminal>[0] = {}) {
  const terminal = fakeTerminal(options);
  const exitCode = await runCommandLine(['arena', '--workers', '0', ...args], terminal);
  return { exitCode, ...terminal.written };
}

describe('a scenario', () => {
  test('prints a table', async () => {
    const { exitCode, stdout, stderr } = await arena(['--scenario', scenario({ target_latency_ms: 30 })]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(
      /^policy +mean +p50 +p99 +on time +rejected +busy +batches +batch size +of bound$/m,
    );
    expect(stdout).toMatch(/^adaptive .*%/m);
    expect(stdout).toMatch(/^greedy .*%/m);
    expect(stdout).toMatch(/^Bound: /m);
  });

  test('prints JSON', async () => {
    const { stdout } = await arena(['--scenario', scenario({ seeds: [4, 5] }), '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      name: 'mine',
      seeds: [4, 5],
      bound: { measure: 'mean_ms', kind: 'optimum' },
      policies: [{ policy: 'adaptive' }, { policy: 'greedy' }],
    });
  });

  test('shows and erases a progress bar on a terminal', async () => {
    const { stderr } = await arena(['--scenario', scenario({})], { isTTY: true });
    expect(stderr).toMatch(/1 of 3 runs/);
    expect(stderr.endsWith('\r\x1b[2K')).toBe(true);
  });

  test.each<[string, object | string, RegExp]>([
    ['no JSON', '{"curve": "a",\n "arrivals": }', /^error: mine\.json: line 2, column 14: expected a value/],
    [
      'a curve with a hole',
      {
        curve: [
          { size: 1, ms: 3 },
          { size: 4, ms: null },
        ],
      },
      /^error: mine\.json: curve\[1\]\.ms: /,
    ],
    [
      'an unknown curve',
      { curve: 'resnet5' },
      /^error: mine\.json: curve: unknown curve "resnet5"\. Did you mean resnet50\?/,
    ],
    [
      'an unknown policy',
      { policies: ['greedy', 'tritn-2'] },
      /^error: mine\.json: policies\[1\]: unknown policy "tritn-2"\. Did you mean triton-2\?/,
    ],
    [
      'unsorted times',
      { arrivals: { kind: 'times', times: [0, 5, 3] }, items: 3 },
      /^error: mine\.json: arrivals\.times\[2\]: /,
    ],
    [
      'a negative time',
      { arrivals: { kind: 'times', times: [-1, 5] }, items: 2 },
      /^error: mine\.json: arrivals\.times\[0\]: /,
    ],
  ])('with %s is rejected in one line, with the position', async (_what, fields, message) => {
    const { exitCode, stdout, stderr } = await arena(['--scenario', scenario(fields)]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  test('that does not exist is rejected', async () => {
    expect(await arena(['--scenario', 'no.json'])).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: 'error: --scenario: there is no file no.json.\n',
    });
  });
});

describe('an invalid command line exits with 2', () => {
  test.each<[string[], RegExp]>([
    [['--scenario', 'x.json', '--quick'], /'--scenario <file>' cannot be used with option '--quick'/],
    [['--harm', '--quick'], /'--harm' cannot be used with option '--quick'/],
    [['--harm', '--seeds', '0'], /Expected a whole number from 1/],
    [['--ablate', '--target', '4'], /'--ablate' cannot be used with option '--target <number>'/],
    [['--scenario', 'x.json', '--html', 'x.html'], /cannot be used with option '--html <file>'/],
    [['--target', '8'], /--target: 8 is not simulated\. .*npm run bench:core/],
    [['--target', '12'], /Expected a whole number from 1 to 11/],
    [['--workers', '-1'], /Expected a whole number from 0 to 256/],
    [['--seed', '1.5'], /Expected a whole number from 0/],
  ])('%s', async (args, message) => {
    const { exitCode, stdout, stderr } = await arena(args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });
});

test.each([
  [200, 'almost done'],
  [12_400, 'about 12 s left'],
  [150_000, 'about 3 min left'],
])('rounds the remaining time: %d ms', (ms, text) => {
  expect(formatLeft(ms)).toBe(text);
});
