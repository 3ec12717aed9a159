import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommandLine } from '../src/command-line.js';
import { addConfigFlags } from '../src/serve/config-command.js';
import { fakeTerminal } from './support/fake-terminal.js';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'batchwise-config-command-'));
});

afterAll(() => rmSync(folder, { recursive: true }));

function file(text: string): string {
  const path = join(folder, 'my.yaml');
  writeFileSync(path, text);
  return path;
}

async function run(args: readonly string[], options: Parameters<typeof fakeTerminal>[0] = {}) {
  const terminal = fakeTerminal(options);
  const exitCode = await runCommandLine(['config', ...args], terminal);
  return { exitCode, ...terminal.written };
}

/** The origin of the first value of a key. */
function originOf(stdout: string, key: string): string | undefined {
  return new RegExp(`^ *${key}:.*# (.*)$`, 'm').exec(stdout)?.[1];
}

test('prints each value with its origin', async () => {
  const path = file('server:\n  host: 0.0.0.0\n  port: 1\n  workers: 2\n');
  const env = { BATCHWISE__SERVER__PORT: '2', BATCHWISE__SERVER__WORKERS: '3' };
  const { exitCode, stdout, stderr } = await run(['-c', path, '--workers', '4'], { env });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toMatch(/^ {2}host: 0\.0\.0\.0 /m);
  expect(stdout).toMatch(/^ {2}port: 2 /m);
  expect(stdout).toMatch(/^ {2}workers: 4 /m);
  expect(['host', 'port', 'workers', 'grpc_port'].map((key) => originOf(stdout, key))).toEqual([
    `${path}:2:3`,
    'BATCHWISE__SERVER__PORT',
    '--workers',
    'default',
  ]);
});

test('the file may be named by the environment', async () => {
  const { stdout } = await run([], { env: { BATCHWISE_CONFIG: file('server: {port: 5}') } });
  expect(stdout).toContain(`# From ${join(folder, 'my.yaml')}.`);
  expect(stdout).toMatch(/^ {2}port: 5 /m);
});

test('comments are faint on a terminal only', async () => {
  const path = file('');
  expect((await run(['-c', path], { isTTY: true })).stdout).toContain('\x1b[2m# default\x1b[22m');
  expect((await run(['-c', path])).stdout).not.toContain('\x1b');
});

test('with --json it is an object', async () => {
  const { exitCode, stdout } = await run(['-c', file('server: {port: 5}'), '--json', '--grpc-port', '6']);
  const { settings, origins } = JSON.parse(stdout);
  expect(exitCode).toBe(0);
  expect(settings.server).toMatchObject({ port: 5, grpc_port: 6 });
  expect(origins['server.grpc_port']).toBe('--grpc-port');
});

test('prints all problems, one per line, and exits with 1', async () => {
  const path = file('server:\n  prot: 1\n  workers: many\n');
  expect(await run(['-c', path], { env: { BATCHWISE__SERVER__HOTS: 'a' } })).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `error: ${path}:2:3: server.prot: unknown key. Did you mean port?
error: ${path}:3:12: server.workers: expected a whole number from 1 to 256, got the string "many".
error: BATCHWISE__SERVER__HOTS: unknown variable. Did you mean BATCHWISE__SERVER__HOST?
`,
  });
  expect(await run(['-c', join(folder, 'nope.yaml')])).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `error: --config: there is no file ${join(folder, 'nope.yaml')}.\n`,
  });
});

describe('invalid flags exit with 2', () => {
  test.each<[string[], string]>([
    [
      ['--port', 'http'],
      "error: option '--port <number>' argument 'http' is invalid. Expected a whole number from 0 to 65,535, got the string \"http\".\n",
    ],
    [['--prot', '1'], "error: unknown option '--prot'\n(Did you mean --port?)\n"],
    [['--workers', '0'], 'Expected a whole number from 1 to 256, got 0.\n'],
    [['--port', ''], 'got nothing.\n'],
    [['more'], 'error: too many arguments'],
  ])('%j', async (args, message) => {
    const { exitCode, stdout, stderr } = await run(args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(message);
  });
});

test('the help has the flags, their defaults, examples and exit codes', async () => {
  const { stdout } = await run(['--help']);
  for (const word of ['-c, --config', '--host', '(default: 3000)', '--grpc-port', '--workers', 'Exit codes'])
    expect(stdout).toContain(word);
});

test('flags that are not given have no value', () => {
  const command = addConfigFlags(new Command('serve').exitOverride());
  expect(command.parse(['--port', '80'], { from: 'user' }).opts()).toEqual({ port: 80 });
});
