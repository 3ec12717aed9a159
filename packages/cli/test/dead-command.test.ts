import { describe, expect, test } from 'vitest';
import { runCommandLine } from '../src/command-line.js';
import { fakeTerminal } from './support/fake-terminal.js';

async function run(args: readonly string[]) {
  const terminal = fakeTerminal({ env: { REDIS__URL: 'redis://127.0.0.1:1' } });
  const exitCode = await runCommandLine(args, terminal);
  return { exitCode, ...terminal.written };
}

describe('an invalid command line', () => {
  test.each<[string[], number, RegExp]>([
    [['dead', 'retry'], 2, /^error: expected ids of dead letters, from batchwise dead list, or --all\.$/m],
    [['dead', 'drop', '1-0', '--all'], 2, /^error: expected ids or --all, got both\.$/m],
    [
      ['dead', 'drop', 'abc'],
      1,
      /^error: drop\(ids\): expected the id of a dead letter, such as .*, got "abc"\.$/m,
    ],
    [['dead', 'list', '--count', '0'], 2, /Expected a whole number from 1 to 1,000,000/],
    [['dead', 'list', '--after', 'x'], 1, /after: expected the id of a dead letter/],
    [['dead', 'lst'], 2, /unknown command 'lst'\n\(Did you mean list\?\)/],
    [['queue', 'stat'], 2, /unknown command 'stat'/],
    [['queue', 'status', '--queue', '{x}'], 1, /^error: queue: expected a name/m],
    [['queue', 'status', 'more'], 2, /too many arguments/],
  ])('%s', async (args, code, message) => {
    const { exitCode, stdout, stderr } = await run(args);
    expect(stderr).toMatch(message);
    expect({ exitCode, stdout }).toEqual({ exitCode: code, stdout: '' });
  });
});

test.each([['dead'], ['queue']])('%s alone shows its commands', async (name) => {
  const { exitCode, stderr } = await run([name]);
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(new RegExp(`^Usage: batchwise ${name} `));
});

test.each([
  [
    ['worker', '--help'],
    ['--queue', '--batch-time', '-bs', 'DYNAMIC_BATCHER__BATCH_SIZE', 'SIGTERM'],
  ],
  [
    ['dead', 'list', '--help'],
    ['--queue', '--after', 'Exit codes'],
  ],
  [
    ['queue', 'status', '--help'],
    ['--watch', 'Examples:', 'Exit codes'],
  ],
])('%s', async (args, words) => {
  const { exitCode, stdout } = await run(args);
  expect(exitCode).toBe(0);
  for (const word of words) expect(stdout).toContain(word);
});
