/** `batchwise arena` as a user runs it: the built command, with its worker threads. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { batchwise } from '../support/command.js';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'batchwise-arena-'));
  writeFileSync(join(folder, 'requests.csv'), Array.from({ length: 500 }, (_, i) => 3 * i).join('\n'));
});

afterAll(() => rmSync(folder, { recursive: true }));

const arena = (...args: string[]) => batchwise(['arena', ...args], folder);

function write(fields: object): string {
  writeFileSync(join(folder, 'mine.json'), JSON.stringify(fields));
  return 'mine.json';
}

describe('a scenario with a trace beside it', () => {
  const fields = {
    curve: { '1': 5, '8': 6, '32': 9 },
    arrivals: { kind: 'trace', file: 'requests.csv' },
    target_latency_ms: 20,
    seeds: [1, 2],
    policies: ['adaptive', 'efficiency', 'greedy', 'nexus'],
  };

  test('is the same for any number of threads', async () => {
    const outputs = await Promise.all(
      ['0', '1', '3'].map((workers) => arena('--scenario', write(fields), '--json', '--workers', workers)),
    );
    const [first] = outputs;
    for (const output of outputs) expect(output).toEqual(first);
    expect(first).toMatchObject({ exitCode: 0, stderr: '' });
    const { bound, policies } = JSON.parse(first?.stdout ?? '');
    expect(bound).toMatchObject({ measure: 'goodput', kind: 'clairvoyant', value: 1 });
    expect(policies).toHaveLength(4);
    for (const { policy, to_bound } of policies) expect(to_bound, policy).toBeGreaterThan(0.9);
  });

  test.each<[string, object, RegExp]>([
    ['curve', { curve: { '1': 5, '8': -1 } }, /^error: mine\.json: curve\["8"\]: expected .*got -1\.\n$/],
    ['policy', { policies: ['adaptiv'] }, /^error: mine\.json: policies\[0\]: unknown policy "adaptiv"/],
    [
      'trace',
      { arrivals: { kind: 'trace', file: 'no.csv' } },
      /^error: mine\.json: arrivals\.file: the trace cannot/,
    ],
  ])('with an invalid %s is an error with its location', async (_what, changes, message) => {
    const { exitCode, stdout, stderr } = await arena('--scenario', write({ ...fields, ...changes }));
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });
});

describe('the quick grid', () => {
  test('runs with other seeds, and reports figures that are worse than their limit', async () => {
    const { exitCode, stdout, stderr } = await arena(
      ...['--quick', '--target', '9', '--json', '--check', '--seed', '7000'],
    );
    const { first_seed, results, targets } = JSON.parse(stdout);
    expect(first_seed).toBe(7000);
    expect(targets).toEqual([expect.objectContaining({ number: 9, name: 'admission' })]);
    expect(results.length).toBeGreaterThan(0);
    for (const { seeds } of results) expect(seeds).toEqual([7000]);
    // Depends on the policy.
    const missed = targets[0].goals.filter((goal: { within_limit: boolean }) => !goal.within_limit);
    expect(exitCode).toBe(missed.length === 0 ? 0 : 1);
    expect(stderr.match(/^error: target 9, /gm) ?? []).toHaveLength(missed.length);
  });
});
