import { describe, expect, test } from 'vitest';
import { runCommandLine } from '../src/command-line.js';
import { PROXY_SETTINGS } from '../src/proxy/proxy-schema.js';
import { fakeTerminal } from './support/fake-terminal.js';

async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const terminal = fakeTerminal({ env });
  const exitCode = await runCommandLine(args, terminal);
  return { exitCode, ...terminal.written };
}

describe('help', () => {
  test.each([[['proxy', '--help']], [['help', 'proxy']]])('batchwise %s', async (args: string[]) => {
    const { exitCode, stdout, stderr } = await run(args);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    for (const { flag } of PROXY_SETTINGS)
      if (flag !== undefined) expect(stdout).toContain(flag.replace(/^\S+, /, ''));
    for (const word of ['--no-admin', '--config', 'Examples:', 'SIGTERM', 'Exit codes']) {
      expect(stdout).toContain(word);
    }
    expect(stdout).not.toMatch(/`|undefined|\(default: none/);
  });

  test('lists the command', async () => {
    expect((await run(['--help'])).stdout).toMatch(
      /^ {2}proxy \[options\] +batch the calls to an existing gRPC service/m,
    );
  });
});

describe('invalid settings are rejected before the start', () => {
  test.each<[string[], Record<string, string>, number, string]>([
    [['--tls-key', 'k.pem'], {}, 2, 'error: --tls-key: requires --tls-cert.\n'],
    [['--tls_key=k.pem'], {}, 2, 'error: --tls-key: requires --tls-cert.\n'],
    [
      ['--tls-key', 'k.pem', '--backend-key', 'b.pem'],
      {},
      2,
      'error: --tls-key: requires --tls-cert. --backend-key: requires --backend-cert.\n',
    ],
    [[], { BATCHWISE__PROXY__TLS_KEY: 'k.pem' }, 1, 'error: BATCHWISE__PROXY__TLS_KEY: requires tls_cert.\n'],
    [
      [],
      { BATCHWISE__PROXY__PORT: 'x', BATCHWISE__PROXY__HEALTH: 'y' },
      1,
      'error: BATCHWISE__PROXY__HEALTH: expected answer or pass, got the string "y".\n' +
        'error: BATCHWISE__PROXY__PORT: expected a whole number from 0 to 65,535, got the string "x".\n',
    ],
  ])('proxy %s %j', async (args, env, exitCode, stderr) => {
    expect(await run(['proxy', ...args], env)).toEqual({ exitCode, stdout: '', stderr });
  });

  test('rejects arguments', async () => {
    const { exitCode, stderr } = await run(['proxy', 'localhost:50051']);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/too many arguments/);
  });
});
