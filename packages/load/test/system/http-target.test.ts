/** Requests over HTTP against a real server that misbehaves as it is told: every outcome is counted, once. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { VirtualClock } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { makeCertificates } from '../../../redis/test/support/certificates.js';
import { createTarget } from '../../src/targets/create-target.js';
import { HttpConnections } from '../../src/targets/http-connections.js';
import type { Outcome } from '../../src/targets/target.js';
import type { TargetSpec } from '../../src/targets/target-spec.js';
import { ScriptedServer } from '../support/scripted-server.js';
import { counted, sendAll } from '../support/send-all.js';

const USERS = 16;
const RESET = 'failed ECONNRESET';
const ENDED = 'failed connection closed without a complete response';

async function outcomesOf(
  server: ScriptedServer,
  scripts: readonly string[],
  each: number,
  spec: Partial<TargetSpec> = {},
): Promise<Outcome[]> {
  const target = createTarget({
    url: server.url,
    data: scripts.map((name) => ({ json: { do: name } })),
    ...spec,
  });
  await target.prepare();
  try {
    return await sendAll(target, scripts.length * each, USERS);
  } finally {
    await target.close();
    expect(target.connections).toBe(0);
  }
}

test('every way in which a response goes wrong is counted under its reason, and disturbs no other request', async () => {
  await using server = await ScriptedServer.start();
  const scripts = [
    ...['ok', 'closeAfter', 'informational', 'chunked', 'longerThanLength'],
    ...['tooMany', 'unavailable', 'ownText'],
    ...['reset', 'end', 'resetInBody', 'endInBody', 'shorterThanLength', 'noHttp'],
  ];
  const outcomes = await outcomesOf(server, scripts, 40);
  const counts = counted(outcomes);
  // A reset after the first bytes of a response looks like an end on some systems.
  const { [RESET]: resets = 0, [ENDED]: ends = 0, ...others } = counts;
  expect(resets).toBeGreaterThanOrEqual(40);
  expect(resets + ends).toBe(160);
  expect(others).toEqual({
    ok: 200,
    'rejected 429 Too Many Requests': 40,
    'failed 503 Service Unavailable': 40,
    'failed 500 Model Broken': 40,
    'failed body length differs from content-length': 40,
    'failed invalid HTTP response (Expected HTTP/, RTSP/ or ICE/)': 40,
  });
  expect(server.requests).toHaveLength(outcomes.length);
});

test('a body without an end that is to be checked, and a long status text, do not fill memory', async () => {
  await using server = await ScriptedServer.start();
  const success = { json: { path: 'label' } };
  const outcomes = await outcomesOf(server, ['endless', 'longText'], 1, { success });
  expect(counted(outcomes)).toEqual({
    'failed body above 64 MiB': 1,
    [`failed 500 ${'x'.repeat(196)}…`]: 1,
  });
});

test('what the server says of the batch is in the outcome, and the body is counted', async () => {
  await using server = await ScriptedServer.start();
  const [outcome] = await outcomesOf(server, ['ok'], 1);
  expect(outcome).toEqual({ kind: 'ok', responseBytes: 11, batchSize: 4, queueMs: 1.25, computeMs: 3 });
});

test('connections are kept alive: as many as there are users, however many requests there are', async () => {
  await using server = await ScriptedServer.start();
  await outcomesOf(server, ['ok'], 500);
  // One more: that of `prepare()`.
  expect(server.connections).toBe(USERS + 1);
});

describe('a success rule', () => {
  const scripts = ['ok', 'chunked', 'otherLabel', 'noJson', 'unavailable', 'tooMany'];

  test('about a member of the JSON body', async () => {
    await using server = await ScriptedServer.start();
    const success = { json: { path: 'label', value: 7 } };
    expect(counted(await outcomesOf(server, scripts, 20, { success }))).toEqual({
      ok: 40,
      'failed label is not 7': 20,
      'failed body is not JSON': 20,
      'failed 503 Service Unavailable': 20,
      'rejected 429 Too Many Requests': 20,
    });
  });

  test('about the status: a status that it names is a success, 429 too', async () => {
    await using server = await ScriptedServer.start();
    const success = { status: ['200-299', '429'] };
    expect(counted(await outcomesOf(server, scripts, 20, { success }))).toEqual({
      ok: 100,
      'failed 503 Service Unavailable': 20,
    });
  });

  test('about the text of the body', async () => {
    await using server = await ScriptedServer.start();
    const success = { body: '/label\\W+7/' };
    expect(counted(await outcomesOf(server, scripts, 20, { success }))).toEqual({
      ok: 60,
      'failed body does not match /label\\W+7/': 20,
      'failed 503 Service Unavailable': 20,
      'rejected 429 Too Many Requests': 20,
    });
  });
});

test('a response that does not come within the time limit is a failure; others are not held up', async () => {
  await using server = await ScriptedServer.start();
  const clock = new VirtualClock();
  const connections = new HttpConnections({ origin: server.url, timeoutMs: 1500, clock });
  const never = sendEach(connections, 16, { do: 'never' });
  expect(await sendEach(connections, 32, { do: 'ok' })).toEqual(Array(32).fill(undefined));
  await clock.advance(1499);
  // On connections that were used before: their time begins anew.
  const later = sendEach(connections, 4, { do: 'never' });
  let areLaterOver = false;
  void later.then(() => {
    areLaterOver = true;
  });
  await clock.advance(1);
  expect(await never).toEqual(Array(16).fill('no response within 1.5 s'));
  await clock.advance(1498);
  expect(areLaterOver).toBe(false);
  await clock.advance(1);
  expect(await later).toEqual(Array(4).fill('no response within 1.5 s'));
  await connections.close();
  expect(connections.open).toBe(0);
  expect(clock.pendingTimers).toBe(0);
});

/** The failures of requests that are sent all at once. */
function sendEach(
  connections: HttpConnections,
  count: number,
  json: object,
): Promise<(string | undefined)[]> {
  const body = Buffer.from(JSON.stringify(json));
  const request = { method: 'POST', path: '/', headers: [], wantsBody: false, body };
  return Promise.all(
    Array.from({ length: count }, () => {
      return new Promise<string | undefined>((resolve) => {
        connections.send(request, ({ failure }) => resolve(failure));
      });
    }),
  );
}

test('requests that are under way when the target is closed fail', async () => {
  await using server = await ScriptedServer.start();
  const target = createTarget({ url: server.url, data: [{ json: { do: 'never' } }] });
  await target.prepare();
  const ends = sendAll(target, 8, 8);
  await target.close();
  expect(counted(await ends)).toEqual({ 'failed stopped': 8 });
});

test('a server that dies is an outcome, and is used again when it is back', async () => {
  const server = await ScriptedServer.start();
  const { port, url } = server;
  const target = createTarget({ url, data: [{ json: { do: 'ok' } }] });
  await target.prepare();
  expect(counted(await sendAll(target, 100, USERS))).toEqual({ ok: 100 });
  await server[Symbol.asyncDispose]();
  const { 'failed ECONNREFUSED': refused = 0, ...others } = counted(await sendAll(target, 100, USERS));
  // A connection may be found closed only when a request is sent on it.
  expect(refused).toBeGreaterThanOrEqual(100 - USERS);
  expect(Object.values(others).reduce((sum, count) => sum + count, refused)).toBe(100);
  await using again = await ScriptedServer.start(undefined, { port });
  expect(counted(await sendAll(target, 100, USERS))).toEqual({ ok: 100 });
  expect(again.requests).toHaveLength(100);
  await target.close();
});

test('method, path with query, headers and samples are sent as the spec says', async () => {
  await using server = await ScriptedServer.start((_request, response) => void response.end());
  const target = createTarget({
    url: `http://127.0.0.1:${server.port}/a/b?c=d`,
    method: 'put',
    headers: { 'X-Key': '1', 'Content-Type': 'text/plain' },
    data: [{ json: [1, 2] }, { base64: 'AAEC' }],
  });
  expect(target.name).toBe('PUT /a/b');
  await target.prepare();
  await sendAll(target, 3, 1);
  await target.close();
  expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(
    Array(3).fill('PUT /a/b?c=d'),
  );
  expect(server.requests.map(({ body }) => body.toString('hex'))).toEqual([
    '5b312c325d',
    '000102',
    '5b312c325d',
  ]);
  expect(server.requests[0]?.headers).toMatchObject({
    'x-key': '1',
    'content-type': 'text/plain',
    'content-length': '5',
  });
});

test('without data a GET without a body is sent', async () => {
  await using server = await ScriptedServer.start((_request, response) => void response.end());
  const target = createTarget({ url: server.url });
  await target.prepare();
  await sendAll(target, 1, 1);
  await target.close();
  expect(server.requests[0]).toMatchObject({ method: 'GET', body: Buffer.alloc(0) });
});

describe('with TLS', () => {
  const { ca, server: identity } = makeCertificates();
  const script = (_request: unknown, response: { end(): unknown }) => void response.end();

  test.each([{ ca }, { insecure: true }])('and a way to trust the certificate', async (tls) => {
    await using server = await ScriptedServer.start(script, { tls: identity });
    const target = createTarget({ url: `https://127.0.0.1:${server.port}/`, tls });
    await target.prepare();
    expect(counted(await sendAll(target, 50, 4))).toEqual({ ok: 50 });
    await target.close();
  });

  test('a certificate that is not trusted is told before the run', async () => {
    await using server = await ScriptedServer.start(script, { tls: identity });
    const target = createTarget({ url: `https://127.0.0.1:${server.port}/` });
    await expect(target.prepare()).rejects.toMatchObject({
      code: 'UNREACHABLE',
      message: expect.stringMatching(/untrusted certificate.*tls\.ca/),
    });
    await target.close();
  });

  test('a server without TLS is told before the run', async () => {
    await using server = await ScriptedServer.start(script);
    const target = createTarget({ url: `https://127.0.0.1:${server.port}/` });
    await expect(target.prepare()).rejects.toMatchObject({
      message: expect.stringContaining('does not use TLS'),
    });
    await target.close();
  });
});

test('a refused connection and an unknown host are told before the run', async () => {
  const unused = createServer().listen(0, '127.0.0.1');
  await once(unused, 'listening');
  const { port } = unused.address() as { port: number };
  await new Promise((resolve) => unused.close(resolve));
  await expect(createTarget({ url: `http://127.0.0.1:${port}/` }).prepare()).rejects.toMatchObject({
    name: 'LoadError',
    code: 'UNREACHABLE',
    message: expect.stringContaining(`127.0.0.1:${port} refused the connection`),
  });
  await expect(createTarget({ url: 'http://no-such-host.invalid/' }).prepare()).rejects.toMatchObject({
    code: 'UNREACHABLE',
    message: expect.stringContaining('Unknown host no-such-host.invalid'),
  });
});

describe('with a maximum of connections', () => {
  const request = { method: 'POST', path: '/', headers: [], wantsBody: true };

  test('requests wait for one in their order, and each gets its own response', async () => {
    await using server = await ScriptedServer.start(({ body }, response) => void response.end(body));
    const connections = new HttpConnections({ origin: server.url, maxConnections: 1 });
    const bodies: number[] = [];
    await new Promise<void>((resolve) => {
      let sent = 0;
      const send = () => {
        connections.send({ ...request, body: Buffer.from(String(sent++)) }, ({ body }) => {
          bodies.push(Number(body));
          // Those that wait already come first.
          if (sent < 100) send();
          else if (bodies.length === 100) resolve();
        });
      };
      for (let i = 0; i < 50; i++) send();
    });
    expect(bodies.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
    expect(server.requests.map(({ body }) => Number(body))).toEqual(bodies.map((_, i) => i));
    expect(server.connections).toBe(1);
    await connections.close();
  });

  test('the time limit includes the wait', async () => {
    await using server = await ScriptedServer.start();
    const clock = new VirtualClock();
    const connections = new HttpConnections({ origin: server.url, maxConnections: 1, timeoutMs: 200, clock });
    const first = sendEach(connections, 1, { do: 'never' });
    await clock.advance(150);
    const second = sendEach(connections, 2, { do: 'never' });
    await clock.advance(50);
    expect(await first).toEqual(['no response within 200 ms']);
    await clock.advance(149);
    const third = sendEach(connections, 1, { do: 'ok' });
    await clock.advance(1);
    expect(await second).toEqual(Array(2).fill('no response within 200 ms'));
    expect(await third).toEqual([undefined]);
    await connections.close();
  });
});
