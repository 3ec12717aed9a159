/** The admin server over real sockets. `promtool check metrics` reports no problem with its metrics. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Batcher } from 'batchwise';
import { afterEach, expect, test } from 'vitest';
import { findProgram, testPrograms } from '../../../../scripts/test-programs.js';
import { parseExposition } from '../../../metrics/test/support/exposition.js';
import { type AdminAddress, AdminServer, type AdminServerOptions } from '../../src/admin/admin-server.js';
import { PASS_THROUGH, ProxyMetrics } from '../../src/admin/proxy-metrics.js';

const toEnd: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of toEnd.splice(0)) await end();
});

async function listening(options: Partial<AdminServerOptions> = {}) {
  const server = new AdminServer({
    metrics: () => [],
    readiness: () => ({ isReady: true, reasons: [] }),
    ...options,
  });
  toEnd.push(() => server.close());
  return { server, address: await server.listen('127.0.0.1', 0) };
}

async function ask({ url }: AdminAddress, path: string, init: RequestInit = {}) {
  const answer = await fetch(url + path, init);
  const headers = Object.fromEntries(answer.headers);
  return { status: answer.status, headers, body: await answer.text() };
}

function connected({ port }: AdminAddress): Socket {
  const socket = connect(port, '127.0.0.1');
  toEnd.push(() => socket.destroy());
  return socket;
}

/** The bytes received until the server ends the connection. */
async function receivedUntilEnd(socket: Socket): Promise<string> {
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
  });
  // A reset also ends the connection; once() would throw the error.
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('close', resolve));
  return received;
}

const TEXT = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' };

// DNS rebinding: a web page whose name resolves to 127.0.0.1 could read the metrics.
test.each([
  ['evil.example', '421'],
  ['localhost.evil.example:9090', '421'],
  ['localhost', '200'],
  ['127.0.0.1:9090', '200'],
  ['[::1]:9090', '200'],
])('at a loopback address only loopback names are accepted: %s gets %s', async (host, status) => {
  const { address } = await listening();
  for (const path of ['/metrics', '/livez', '/readyz', '/healthz']) {
    const socket = connected(address);
    socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
    expect((await receivedUntilEnd(socket)).split(' ', 2)[1]).toBe(status);
  }
});

test('/readyz of a ready proxy is 200', async () => {
  const { address } = await listening();
  expect(await ask(address, '/livez')).toMatchObject({ status: 200, headers: TEXT, body: 'alive\n' });
  expect(await ask(address, '/readyz')).toMatchObject({ status: 200, headers: TEXT, body: 'ready\n' });
  const health = await ask(address, '/healthz');
  expect(health).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
  expect(JSON.parse(health.body)).toEqual({ status: 'ready', reasons: [] });
});

test('a proxy that is not ready is alive and reports the reason', async () => {
  const reasons = ['no backend is usable', 'draining'];
  const { address } = await listening({ readiness: () => ({ isReady: false, reasons }) });
  expect((await ask(address, '/livez')).status).toBe(200);
  const ready = await ask(address, '/readyz', { headers: { 'x-request-id': 'mine' } });
  expect(ready).toMatchObject({
    status: 503,
    headers: {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      'retry-after': '1',
      'retry-after-ms': '1000',
      'x-request-id': 'mine',
    },
  });
  const detail = 'Not ready: no backend is usable; draining.';
  expect(JSON.parse(ready.body)).toEqual({
    type: 'urn:batchwise:error:NOT_READY',
    title: 'The server is not ready',
    status: 503,
    detail,
    error: detail,
    code: 'NOT_READY',
    request_id: 'mine',
  });
  const health = await ask(address, '/healthz');
  expect(health.status).toBe(200);
  expect(JSON.parse(health.body)).toEqual({ status: 'not_ready', reasons });
});

test('HEAD is answered like GET, without the body', async () => {
  const { address } = await listening();
  const answer = await ask(address, '/livez', { method: 'HEAD' });
  expect(answer).toMatchObject({ status: 200, headers: { ...TEXT, 'content-length': '6' }, body: '' });
});

test.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('%s is not allowed', async (method) => {
  const { address } = await listening();
  const answer = await ask(address, '/metrics', { method });
  expect(answer).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  expect(JSON.parse(answer.body).detail).toBe(`${method} /metrics: expected GET or HEAD.`);
});

test.each(['/', '/metrics/x', '//livez', '/LIVEZ', '/%6civez'])('%s is not found', async (path) => {
  const { address } = await listening();
  const answer = await ask(address, path);
  expect(answer.status).toBe(404);
  expect(JSON.parse(answer.body).detail).toContain(
    'expected one of the paths /metrics, /livez, /readyz, /healthz',
  );
});

test.each(['/livez?verbose', '/livez/', '/livez/?'])('%s is /livez', async (path) => {
  const { address } = await listening();
  expect((await ask(address, path)).body).toBe('alive\n');
});

function promtool(text: string) {
  const program = findProgram(testPrograms.promtool);
  if (program === undefined) throw new Error('no promtool: node scripts/test-requirements.js gets it');
  const { status, stdout, stderr, error } = spawnSync(program, ['check', 'metrics'], {
    input: text,
    encoding: 'utf8',
  });
  if (error) throw error;
  return { status, output: stdout + stderr };
}

/** A proxy with a sample for every metric. */
async function worked(path: string, backendName: string): Promise<ProxyMetrics> {
  const metrics = new ProxyMetrics({ version: '1.2.3' });
  toEnd.push(() => metrics.close());
  const batcher = new Batcher(async (items: number[]) => items, { name: path, maxBatchSize: 10 });
  metrics.watchMethod(path, () => batcher.stats(), 10);
  for (const size of [1, 2, 10, 25]) await batcher.submitMany(new Array(size).fill(1));
  for (const route of [path, PASS_THROUGH]) {
    for (let status = 0; status <= 17; status++) {
      metrics.requests.started(route);
      metrics.requests.ended(route, status, status / 7);
    }
  }
  const backend = metrics.watchBackend(backendName, () => ({
    isUp: true,
    batchesInFlight: 2,
    batchesRetried: 1,
  }));
  backend.batchSent();
  backend.ejected();
  backend.surplusAnswers(3);
  backend.connectionFailed();
  backend.healthCheckFailed();
  for (let status = 1; status <= 17; status++) backend.callFailed(status);
  return metrics;
}

test.each([
  ['/pkg.Service/Compute', 'localhost:50051'],
  ['/ünï/"quoted" \\ and\nbroken', '[::1]:50051'],
  ['__proto__', 'unix:/run/模型 🙂.sock'],
])('promtool accepts the metrics of %j at %j', async (path, backend) => {
  const metrics = await worked(path, backend);
  const { address } = await listening({ metrics: () => metrics.snapshot() });
  const { status, headers, body } = await ask(address, '/metrics');
  expect(status).toBe(200);
  expect(headers).toMatchObject({
    'content-type': 'text/plain; version=0.0.4; charset=utf-8',
    'cache-control': 'no-store',
  });
  expect(parseExposition(body).size).toBeGreaterThan(28);
  expect(promtool(body)).toEqual({ status: 0, output: '' });
});

test('a failure to collect metrics is a 500 with the cause in the log', async () => {
  const lines: string[] = [];
  const { address } = await listening({
    metrics: () => {
      throw new Error('a secret');
    },
    log: (line) => lines.push(line),
  });
  const answer = await ask(address, '/metrics', { headers: { 'x-request-id': 'r1' } });
  expect(answer.status).toBe(500);
  expect(JSON.parse(answer.body)).toMatchObject({ code: 'INTERNAL', request_id: 'r1' });
  expect(answer.body).not.toContain('secret');
  expect(lines).toEqual(['admin: GET /metrics failed (request r1): Error: a secret']);
  expect((await ask(address, '/livez')).status).toBe(200);
});

test.each([
  ['oversized headers', `GET /livez HTTP/1.1\r\nhost: localhost\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ['bytes that are not HTTP', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  ['an incomplete request', 'GET /livez HTTP/1.1\r\nhost: localhost\r\n', 408],
])('%s: an error answer, and the connection is closed', async (_what, bytes, status) => {
  const { address } = await listening(status === 408 ? { limits: { requestTimeoutMs: 1000 } } : {});
  const socket = connected(address);
  socket.write(bytes);
  const received = await receivedUntilEnd(socket);
  expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} .*application/problem\\+json`, 's'));
  const body = received.slice(received.indexOf('\r\n\r\n') + 4);
  expect(JSON.parse(body)).toMatchObject({ status });
  expect((await ask(address, '/livez')).status).toBe(200);
});

test('a request body is not read', async () => {
  const { address } = await listening();
  const socket = connected(address);
  socket.write('GET /livez HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000000\r\n\r\nabc');
  expect(await receivedUntilEnd(socket)).toMatch(/^HTTP\/1.1 200 .*alive\n$/s);
});

test.each(['idleTimeoutMs', 'requestTimeoutMs'])('a silent connection is closed by %s', async (limit) => {
  const { address } = await listening({ limits: { [limit]: 50 } });
  expect(await receivedUntilEnd(connected(address))).toBe('');
});

test('an idle connection is closed after its answer', async () => {
  const { address } = await listening({ limits: { idleTimeoutMs: 1000 } });
  const socket = connected(address);
  socket.write('GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n');
  expect(await receivedUntilEnd(socket)).toMatch(/alive\n$/);
});

test('connections beyond the limit are closed at once', async () => {
  const { address } = await listening({ limits: { maxConnections: 1 } });
  const first = connected(address);
  await once(first, 'connect');
  expect(await receivedUntilEnd(connected(address))).toBe('');
  first.write('GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
  expect(await receivedUntilEnd(first)).toMatch(/alive\n$/);
});

test('a port in use is reported with advice', async () => {
  const { address } = await listening();
  const second = new AdminServer({ metrics: () => [], readiness: () => ({ isReady: true, reasons: [] }) });
  await expect(second.listen('127.0.0.1', address.port)).rejects.toThrow(
    `Cannot listen on 127.0.0.1:${address.port} for metrics and health: the port is already in use. Stop the other process, or choose another port`,
  );
  await second.close();
});

test('close() ends every connection: idle, silent and within a request', async () => {
  const { server, address } = await listening();
  const sockets = ['GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n', '', 'GET /li'].map((bytes) => {
    const socket = connected(address);
    socket.write(bytes);
    return socket;
  });
  const [answered] = sockets as [Socket];
  const connections = sockets.map((socket) => once(socket, 'connect'));
  const ended = Promise.all(sockets.map(receivedUntilEnd));
  await Promise.all([...connections, once(answered, 'data')]);
  await server.close();
  await server.close();
  expect((await ended).slice(1)).toEqual(['', '']);
  await expect(ask(address, '/livez')).rejects.toThrow();
});
