/** The real `batchwise proxy`, between clients of @grpc/grpc-js and backends of it in processes of their own. */
import { createServer, type Server } from 'node:net';
import { credentials, status } from '@grpc/grpc-js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type GrpcBackend, grpcBackend } from '../../../proxy/test/support/grpc-backend.js';
import { grpcClient } from '../../../proxy/test/support/grpc-client.js';
import { makeCertificates } from '../../../redis/test/support/certificates.js';
import { Proxying } from './support/proxying.js';
import { until } from './support/until.js';
import { Working } from './support/working.js';

const words = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'];
/** So long that batches leave for another reason. */
const LONG_USECS = '600000000';
/** Names are for certificates, and addresses are not. */
const NAMED = { 'grpc.ssl_target_name_override': 'localhost' };

async function echoAll(port: number, path = '/test.Echo/Compute'): Promise<void> {
  const client = grpcClient(port);
  const answers = await Promise.all(words.map((word) => client.call(word, { path })));
  expect(answers.map(({ status: code, answer }) => [code, String(answer)])).toEqual(
    words.map((word) => [status.OK, word]),
  );
}

/** Takes connections and says nothing. */
async function silentBackend(): Promise<string> {
  const { port } = await listening();
  return `127.0.0.1:${port}`;
}

async function listening(): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    onTestFinished(() => void socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { server, port: (server.address() as { port: number }).port };
}

describe('batches calls', () => {
  test.each([
    [
      'the flags of YAIS',
      (target: string) => [
        '--max-batch-size',
        '8',
        '--timeout-usecs',
        LONG_USECS,
        '--max-batches-in-flight',
        '1',
        '--forwarding-target',
        target,
      ],
    ],
    [
      'the same with underscores',
      (target: string) => [
        '--max_batch_size=8',
        `--timeout_usecs=${LONG_USECS}`,
        '--max_batches_in_flight=1',
        `--forwarding_target=${target}`,
      ],
    ],
  ])('%s', async (_what, args) => {
    const backend = await grpcBackend();
    const proxy = await Proxying.start(args(backend.target));
    await echoAll(proxy.port);
    await until(() => backend.batches.length > 0, 'the backend tells of a batch');
    expect(backend.batches.map(({ size }) => size)).toEqual([8]);
    expect(proxy.command.stdout).toMatch(
      /\*\/Compute → BatchedCompute +up to 8 per batch, window of 600000 ms/,
    );
    expect(proxy.command.stdout).toContain(backend.target);
  });

  test('without a window with the adaptive policy', async () => {
    const backend = await grpcBackend();
    const proxy = await Proxying.start(['--target', backend.target]);
    await echoAll(proxy.port);
    const sum = () => backend.batches.reduce((total, { size }) => total + size, 0);
    await until(() => sum() >= words.length, 'the backend tells of all batches');
    expect(sum()).toBe(words.length);
    expect(proxy.command.stdout).toContain('adaptive');
  });

  test('with a file, overridden by a variable, overridden by a flag', async () => {
    const backend = await grpcBackend();
    const yaml = `
      targets: [127.0.0.1:1]
      max_batch_size: 3
      methods:
        - '*/Compute'
        - method: /test.Echo/Other
          batched: Chat
          max_batch_size: 8
          timeout_usecs: ${LONG_USECS}
    `;
    const proxy = await Proxying.start(['-c', 'proxy.yaml', '--target', backend.target], {
      files: { 'proxy.yaml': yaml },
      env: { BATCHWISE__PROXY__MAX_BATCH_SIZE: '5' },
    });
    expect(proxy.command.stdout).toMatch(/\*\/Compute → BatchedCompute +up to 5 per batch, adaptive/);
    expect(proxy.command.stdout).toMatch(/\/test\.Echo\/Other → Chat +up to 8 per batch, window/);
    await echoAll(proxy.port, '/test.Echo/Other');
    expect(backend.countOf('unary')).toBe(0);
  });

  test('and passes other calls through', async () => {
    const backend = await grpcBackend();
    const proxy = await Proxying.start(['--target', backend.target]);
    await echoAll(proxy.port, '/test.Echo/Other');
    await until(() => backend.countOf('unary') >= words.length, 'the backend tells of all calls');
    expect(backend.countOf('unary')).toBe(words.length);
  });
});

test('the admin port has metrics and health; --no-admin disables it', async () => {
  const backend = await grpcBackend();
  const proxy = await Proxying.start(['--target', backend.target]);
  await until(async () => (await proxy.get('/readyz')).status === 200, 'it is ready');
  expect((await proxy.get('/metrics')).text).toContain('batchwise_');
  const plain = await Proxying.start(['--target', backend.target, '--no-admin']);
  expect(plain.command.stdout).not.toContain('admin');
});

test('TLS on both sides, with certificates of both ends', async () => {
  const { ca, server, client } = makeCertificates();
  const backend = await grpcBackend({ tls: { ...server, clientCa: ca } });
  const files = {
    'ca.pem': ca,
    'cert.pem': server.cert,
    'key.pem': server.key,
    'client.pem': client.cert,
    'client.key': client.key,
  };
  const args = ['--tls-cert', 'cert.pem', '--tls-key', 'key.pem', '--tls-client-ca', 'ca.pem'];
  const towards = ['--backend-ca', 'ca.pem', '--backend-cert', 'client.pem', '--backend-key', 'client.key'];
  const proxy = await Proxying.start([...args, ...towards, '--target', backend.target], { files });
  expect(proxy.command.stdout).toContain('with mutual TLS\n');
  const trusted = credentials.createSsl(Buffer.from(ca), Buffer.from(client.key), Buffer.from(client.cert));
  const answer = await grpcClient(proxy.port, { ...NAMED, credentials: trusted }).call('hidden');
  expect([answer.status, String(answer.answer)]).toEqual([status.OK, 'hidden']);
  const nobody = credentials.createSsl(Buffer.from(ca));
  expect((await grpcClient(proxy.port, { ...NAMED, credentials: nobody }).call('hidden')).status).toBe(
    status.UNAVAILABLE,
  );
});

test('an outage and a recovery of a backend are logged once each', async () => {
  const first: GrpcBackend = await grpcBackend();
  const proxy = await Proxying.start(['--target', first.target]);
  const away = new RegExp(`^Backend ${first.target} cannot be reached: .*\\.$`, 'gm');
  await proxy.command.said(`Backend ${first.target} is connected.`);
  await first.kill();
  await proxy.command.said(new RegExp(away.source, 'm'));
  await grpcBackend({ port: first.port });
  await until(
    () => proxy.command.stderr.split('is connected.').length === 3,
    'it says that the backend is back',
  );
  const lines = proxy.command.stderr.match(away) ?? [];
  expect(new Set(lines).size).toBe(lines.length);
  await echoAll(proxy.port);
});

describe('signals', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s: what was accepted is answered, and it exits with 0',
    async (signal) => {
      const backend = await grpcBackend();
      const args = ['--timeout-usecs', LONG_USECS, '--target', backend.target];
      const proxy = await Proxying.start(args);
      const answers = ['a', 'b'].map((word) => grpcClient(proxy.port).call(word));
      await proxy.holds(2);
      expect(backend.batches).toEqual([]);
      proxy.command.signal(signal);
      expect((await Promise.all(answers)).map(({ answer }) => String(answer))).toEqual(['a', 'b']);
      expect(await proxy.command.exit).toEqual({ code: 0, signal: null });
      expect(proxy.command.stderr).toContain(
        `${signal} received. Finishing the accepted calls. A second signal stops the proxy at once.\n`,
      );
      expect(backend.batches.map(({ size }) => size)).toEqual([2]);
    },
  );

  test('a second signal stops the proxy at once', async () => {
    const proxy = await Proxying.start(['--timeout-usecs', LONG_USECS, '--target', await silentBackend()]);
    const answer = grpcClient(proxy.port).call('a');
    await proxy.holds(1);
    proxy.command.signal('SIGTERM');
    await proxy.command.said('SIGTERM received. Finishing');
    proxy.command.signal('SIGTERM');
    expect(await proxy.command.exit).toEqual({ code: 143, signal: null });
    // What a client makes of a process that is gone is its own: a lost connection, or a stream that was reset.
    expect([status.UNAVAILABLE, status.INTERNAL]).toContain((await answer).status);
  });

  test('calls are aborted after the drain timeout, and the exit code is 1', async () => {
    const args = [
      '--timeout-usecs',
      LONG_USECS,
      '--drain-timeout',
      '200ms',
      '--target',
      await silentBackend(),
    ];
    const proxy = await Proxying.start(args);
    const answer = grpcClient(proxy.port).call('a');
    await proxy.holds(1);
    proxy.command.signal('SIGTERM');
    expect((await answer).status).toBe(status.UNAVAILABLE);
    expect(await proxy.command.exit).toEqual({ code: 1, signal: null });
    expect(proxy.command.stderr).toContain('Aborted after the drain timeout of 200ms: 1 call.\n');
  });
});

describe('an error has one line and an exit code', () => {
  const files = {
    'proxy.yaml': 'max_batchsize: 8\n',
    'text.pem': 'nothing\n',
  };

  test.each<[string, string[], number, RegExp]>([
    [
      'a bad target',
      ['--target', 'localhost'],
      2,
      /^error: option '--target, --forwarding-target <host:port>' argument 'localhost' is invalid\. Expected host:port, .* Did you mean localhost:50051\?$/,
    ],
    [
      'a bad method',
      ['--method', 'a.B/C'],
      2,
      /argument 'a\.B\/C' is invalid\. .* Did you mean \/a\.B\/C\?$/,
    ],
    [
      'a flag that is not there',
      ['--max-batchsize', '8'],
      2,
      /^error: unknown option '--max-batchsize'\n\(Did you mean --max-batch-size\?\)$/,
    ],
    ['half of TLS', ['--tls-cert', 'c.pem'], 2, /^error: --tls-cert: requires --tls-key\.$/],
    [
      'a certificate that is not there',
      ['--backend-ca', 'gone.pem'],
      1,
      /^error: --backend-ca: there is no file gone\.pem\.$/,
    ],
    [
      'a certificate that is none',
      ['--backend-ca', 'text.pem'],
      1,
      /^error: --backend-ca: expected a PEM file with a certificate, text\.pem has none\.$/,
    ],
    ['a file that is not there', ['-c', 'gone.yaml'], 1, /^error: --config: there is no file gone\.yaml\.$/],
    [
      'an unknown key',
      ['-c', 'proxy.yaml'],
      1,
      /^error: proxy\.yaml:1:1: max_batchsize: unknown key\. Did you mean max_batch_size\?$/,
    ],
    [
      'a host that is not here',
      ['--no-admin', '--port', '0', '--host', '192.0.2.1'],
      1,
      /^error: .*192\.0\.2\.1.*EADDRNOTAVAIL/,
    ],
  ])('%s', async (_what, args, code, message) => {
    const command = new Working(['proxy', ...args], { files });
    expect(await command.exit).toEqual({ code, signal: null });
    expect(command.stderr.trimEnd()).toMatch(message);
    expect(command.stdout).toBe('');
  });

  test.each([
    ['a port', ['--no-admin', '--port']],
    ['a port for metrics', ['--port=0', '--admin-port']],
  ])('%s that is in use', async (_what, args) => {
    const { port } = await listening();
    const command = new Working(['proxy', ...args, String(port)]);
    expect(await command.exit).toEqual({ code: 1, signal: null });
    expect(command.stderr.trimEnd()).toMatch(
      new RegExp(`^error: (?=.*127\\.0\\.0\\.1).*\\b${port}\\b.*already`),
    );
    expect(command.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(command.stdout).toBe('');
  });
});
