import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommandLine } from '../src/command-line.js';
import { fakeTerminal } from './support/fake-terminal.js';

let folder: string;

const HANDLER = 'export const handler = (items) => items;';
const FILES = {
  'h.mjs': HANDLER,
  'none.mjs': 'export const hander = () => [];',
  'nothing.mjs': '',
  'throws.ts': 'throw new Error("at load");',
  'unknown.mjs': `${HANDLER} export const options = { maxBatchSzie: 3 };`,
  'list.mjs': `${HANDLER} export const options = [];`,
  'url.mjs': `${HANDLER} export const options = { url: 'redis://x' };`,
  'policy.mjs': `${HANDLER} export const options = { policy: 'greedy' };`,
};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'batchwise-worker-'));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
});

afterAll(() => rmSync(folder, { recursive: true }));

/** None of these comes as far as Redis; if one did, it would be refused there. */
async function worker(what: string, args: readonly string[], env = {}) {
  const terminal = fakeTerminal({ env: { REDIS__URL: 'redis://127.0.0.1:1', ...env } });
  const exitCode = await runCommandLine(['worker', join(folder, what), ...args], terminal);
  return { exitCode, ...terminal.written };
}

describe('a failed start exits with 1 and one line', () => {
  test.each<[string, string, string[], Record<string, string>, RegExp]>([
    ['no file', 'gone.ts', [], {}, /^error: There is no file .*gone\.ts\.$/],
    ['no model', 'gone.onnx', [], {}, /^error: .*gone\.onnx cannot be served: there is no such file\.$/],
    [
      'a handler without a function',
      'none.mjs',
      [],
      {},
      /none\.mjs exports no handler: it exports hander\. Expected a function \(items, context\) => results/,
    ],
    ['an empty module', 'nothing.mjs', [], {}, /nothing\.mjs exports no handler: it exports nothing\./],
    ['a module that throws', 'throws.ts', [], {}, /throws\.ts cannot be loaded: at load$/],
    [
      'an unknown option of a module',
      'unknown.mjs',
      [],
      {},
      /unknown option "maxBatchSzie"\. Did you mean maxBatchSize\?/,
    ],
    ['options that are none', 'list.mjs', [], {}, /list\.mjs: options: expected an object/],
    [
      'a module with the URL of Redis',
      'url.mjs',
      [],
      {},
      /url\.mjs: options: url is an option of the worker/,
    ],
    ['a policy that is none', 'policy.mjs', [], {}, /policy\.mjs: options: policy: expected a policy/],
    ['an address that is none', 'h.mjs', ['--url', 'http://x'], {}, /^error: url: expected redis:\/\//],
    [
      'a wrong port in the environment',
      'h.mjs',
      [],
      { REDIS__URL: '', REDIS__PORT: 'x' },
      /^error: REDIS__PORT: expected a whole number/,
    ],
    [
      'a wrong batch size there',
      'h.mjs',
      [],
      { DYNAMIC_BATCHER__BATCH_SIZE: '6.4' },
      /^error: DYNAMIC_BATCHER__BATCH_SIZE: expected a whole number from 1 to 65,536, got "6\.4"\.$/,
    ],
    [
      'a wrong batch time there',
      'h.mjs',
      [],
      { DYNAMIC_BATCHER__BATCH_TIME: '2s' },
      /^error: DYNAMIC_BATCHER__BATCH_TIME: expected a number of seconds from 0 to 86,400, got "2s"\.$/,
    ],
    ['a queue without a name', 'h.mjs', ['--queue', 'a b'], {}, /^error: queue: expected a name/],
    [
      'a lease that is too short',
      'h.mjs',
      ['--lease-ms', '5'],
      {},
      /^error: leaseMs: expected milliseconds, a number from 100/,
    ],
  ])('%s', async (_what, file, args, env, message) => {
    const { exitCode, stdout, stderr } = await worker(file, args, env);
    expect(stderr.trimEnd()).toMatch(message);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  });
});

describe('an invalid command line exits with 2', () => {
  test.each<[string, string[], RegExp]>([
    ['notes.txt', [], /notes\.txt: expected a module with a handler \(handler\.ts\), a model/],
    ['h.mjs', ['more'], /too many arguments/],
    ['h.mjs', ['-bs', '0'], /'--batch-size, --max-batch-size <count>' argument '0' is invalid/],
    ['h.mjs', ['-bt', '0'], /Expected a number above 0, at most 86,400/],
    ['h.mjs', ['--batch-time', '2', '--policy', 'greedy'], /--batch-time is for --policy window, not/],
    ['h.mjs', ['--policy', 'fifo'], /Allowed choices are adaptive, greedy, window/],
    ['h.mjs', ['--payload', 'xml'], /Allowed choices are json, msgpack, bytes/],
    ['h.mjs', ['--concurrency', '0'], /Expected a whole number from 1 to 1,024/],
    ['h.mjs', ['--replicas', '2'], /--replicas is for a Python model \(model\.py\)\. .*h\.mjs is not one/],
    ['m.py', ['--gpu', '0,x'], /Expected device numbers, such as 0 or 0,1/],
    ['h.mjs', ['--verbose', '--quiet'], /cannot be used with option '--quiet'/],
    ['h.mjs', ['--leas-ms', '5'], /unknown option '--leas-ms'\n\(Did you mean --lease-ms\?\)/],
  ])('%s %s', async (file, args, message) => {
    const { exitCode, stdout, stderr } = await worker(file, args);
    expect(stderr).toMatch(message);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  });

  test('nothing to run', async () => {
    const terminal = fakeTerminal();
    expect(await runCommandLine(['worker', '--queue', 'q'], terminal)).toBe(2);
    expect(terminal.written.stderr).toMatch(/missing required argument 'source'/);
  });
});
