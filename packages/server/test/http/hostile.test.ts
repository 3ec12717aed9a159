import { request as httpRequest } from 'node:http';
import { describe, expect, test } from 'vitest';
import { HttpStage } from './support/http-stage.js';
import { get, post } from './support/raw-client.js';

describe('what is no HTTP', () => {
  test.each([
    ['garbage', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['a request line of its own kind', 'HELLO\r\n\r\n'],
    ['two lengths', 'POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx'],
    [
      'length and chunks',
      'POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a negative length', 'POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n'],
    [
      'a length beyond all numbers',
      'POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999999999999999999\r\n\r\n',
    ],
    ['a header without a colon', 'GET / HTTP/1.1\r\nhost a\r\n\r\n'],
    ['no host', 'GET / HTTP/1.1\r\n\r\n'],
    ['two hosts', 'GET / HTTP/1.1\r\nhost: a\r\nHost: b\r\n\r\n'],
    ['two hosts that are one', 'GET / HTTP/1.0\r\nhost: a\r\nhost: a\r\n\r\n'],
    [
      'a coding behind the chunks',
      'POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n',
    ],
    [
      'a length behind the chunks',
      'POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\ncontent-length: 5\r\n\r\n',
    ],
    ['a chunk without a size', 'POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'],
  ])('%s is told 400 as problem+json, once', async (_what, bytes) => {
    const stage = await HttpStage.open();
    const client = await stage.client();
    client.socket.write(bytes, 'latin1');
    const { status, headers, body } = await client.answer();
    expect(status).toBe(400);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(JSON.parse(body)).toMatchObject({ code: 'BAD_REQUEST', request_id: headers.get('x-request-id') });
    client.send('more garbage');
    client.socket.end();
    await client.closed();
    expect(client.unread).toBe('');
    expect(stage.held).toEqual([]);
    expect(stage.ended.map((ended) => ended.status)).toEqual([400]);
    expect(stage.server.inFlight).toBe(0);
  });

  test.each([
    ['path', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nhost: a\r\n\r\n`],
    ['header', get('/', `a: ${'x'.repeat(20_000)}\r\n`)],
    ['list of headers', get('/', 'a: b\r\n'.repeat(10_000))],
  ])('a %s that is too long is told 431', async (_what, bytes) => {
    const client = await (await HttpStage.open()).client();
    const { status, body } = await client.send(bytes).answer();
    expect(status).toBe(431);
    expect(JSON.parse(body)).toMatchObject({
      code: 'HEADERS_TOO_LARGE',
      detail: 'expected at most 16384 bytes of path and headers, got more.',
    });
    client.socket.end();
    await client.closed();
  });

  // The parser meets it before the stream of the body has said that it is at its end: the error seemed to be the body's.
  test('what comes in one packet behind a whole request costs the connection, not the request its answer', async () => {
    const stage = await HttpStage.open();
    const client = await stage.client();
    client.send(`${post('/echo', 'whole')}no HTTP\r\n\r\n`);
    expect(await client.answer()).toMatchObject({ status: 200, body: 'whole' });
    expect((await client.answer()).status).toBe(400);
    client.socket.end();
    await client.closed();
    expect(stage.ended.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect(stage.server.inFlight).toBe(0);
  });

  test('CONNECT is not allowed', async () => {
    const client = await (await HttpStage.open()).client();
    expect((await client.send('CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n').answer()).status).toBe(405);
    client.socket.end();
    await client.closed();
  });
});

describe('what is HTTP, but means no good', () => {
  test.each(['//', '/..', '/../etc/passwd', '/%2e%2e/x', '/./', '/echo//', '/;', '/__proto__'])(
    '%s is found nowhere',
    async (path) => {
      const client = await (await HttpStage.open()).client();
      const { status, body } = await client.send(get(path)).answer();
      expect(status).toBe(404);
      expect(JSON.parse(body).detail).toContain('/docs');
    },
  );

  test('OPTIONS and other methods are told which are allowed', async () => {
    const client = await (await HttpStage.open()).client();
    for (const method of ['OPTIONS', 'TRACE', 'PROPFIND']) {
      const { status, headers } = await client.send(`${method} /held HTTP/1.1\r\nhost: a\r\n\r\n`).answer();
      expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
    }
  });

  test('an id that is not fit to be repeated is replaced, in an error too', async () => {
    const client = await (await HttpStage.open()).client();
    for (const id of ['a b', 'x'.repeat(129), '\xe4', 'one\r\nx-request-id: two']) {
      client.socket.write(get('/nope', `x-request-id: ${id}\r\n`), 'latin1');
      const { headers, body } = await client.answer();
      expect(headers.get('x-request-id')).toMatch(/^[\w-]+$/);
      expect(JSON.parse(body).request_id).toBe(headers.get('x-request-id'));
    }
  });

  test('an upgrade is ignored', async () => {
    const client = await (await HttpStage.open()).client();
    client.send(get('/', 'connection: upgrade\r\nupgrade: websocket\r\n'));
    expect((await client.answer()).body).toBe('root');
  });

  test('a client that closes its side after asking counts as gone', async () => {
    const stage = await HttpStage.open();
    const client = await stage.client();
    client.send(get('/held'));
    await stage.heldCall();
    client.socket.end();
    await stage.until(() => stage.ended.length === 1);
    expect(stage.ended).toEqual([{ label: '/held', status: 499 }]);
  });
});

describe('limits of the server', () => {
  test('connections beyond the limit are told 503 at once, and there is room again when one closes', async () => {
    const stage = await HttpStage.open({ limits: { maxConnections: 2 } });
    const [first, second, third] = [await stage.client(), await stage.client(), await stage.client()];
    for (const client of [first, second]) expect((await client.send(get('/')).answer()).status).toBe(200);
    const { status, headers, body } = await third.send(get('/')).answer();
    expect([status, headers.get('retry-after'), headers.get('connection')]).toEqual([503, '1', 'close']);
    expect(JSON.parse(body).code).toBe('UNAVAILABLE');
    await third.closed();
    first.hangUp();
    await stage.connectionsLeft(1);
    expect((await (await stage.client()).send(get('/')).answer()).status).toBe(200);
  });

  test('a flood of connections is refused or cut off, and leaves those who were there alone', async () => {
    const stage = await HttpStage.open({ limits: { maxConnections: 2 } });
    const client = await stage.client();
    await client.send(get('/')).answer();
    const crowd = await Promise.all(Array.from({ length: 80 }, () => stage.client()));
    const statuses = await Promise.all(
      crowd.map((one) =>
        one
          .send(get('/'))
          .answer()
          .then(
            ({ status }) => status,
            () => 0,
          ),
      ),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 503).length).toBeGreaterThan(0);
    expect(new Set(statuses)).toEqual(new Set(statuses.includes(0) ? [200, 503, 0] : [200, 503]));
    expect((await client.send(get('/')).answer()).status).toBe(200);
  });

  test('requests beyond the limit are told 503 and their connection kept; health is not refused', async () => {
    const stage = await HttpStage.open({ limits: { maxInFlight: 1 } });
    const busy = await stage.client();
    busy.send(get('/held'));
    const call = await stage.heldCall();
    const client = await stage.client();
    const refused = await client.send(post('/echo', 'x')).answer();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await client.send(get('/health')).answer()).status).toBe(200);
    call.reply(200, {}, '');
    await busy.answer();
    expect((await client.send(post('/echo', 'x')).answer()).status).toBe(200);
  });
});

test('who could only be read because another was answered finds the place of that one free', async () => {
  // As many as are read at a time on one connection.
  const many = 128;
  const stage = await HttpStage.open({ limits: { maxInFlight: many } });
  const client = await stage.client();
  client.send(get('/held').repeat(many + 1));
  await stage.heldCall(many);
  stage.held[0]?.reply(200, {}, 'first');
  await stage.until(() => stage.started.length === many + 1);
  expect(stage.ended.map(({ status }) => status)).toEqual([200]);
  expect(stage.held).toHaveLength(many + 1);
});

test('a port that is taken, or a host that is not here, is refused with what to do', async () => {
  const stage = await HttpStage.open();
  const { HttpServer } = await import('../../src/http/http-server.js');
  const other = new HttpServer({ routes: [] });
  await expect(other.listen('127.0.0.1', stage.port)).rejects.toThrow(
    `Cannot listen on 127.0.0.1:${stage.port}: the port is already in use. Stop the other process, or choose another port (0 for any free port).`,
  );
  await expect(other.listen('192.0.2.1', 0)).rejects.toThrow(
    /192\.0\.2\.1 is not an address of this machine/,
  );
  await other.close();
});

test("node's own client with keep-alive gets answer after answer on one connection", async () => {
  const stage = await HttpStage.open();
  const statuses = [];
  const { Agent } = await import('node:http');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let i = 0; i < 10; i++) {
    statuses.push(
      await new Promise((resolve, reject) => {
        const asking = httpRequest(`${stage.url}/echo`, { method: 'POST', agent }, (answer) => {
          answer.resume().on('end', () => resolve(answer.statusCode));
        });
        asking.on('error', reject).end('x');
      }),
    );
  }
  agent.destroy();
  expect(statuses).toEqual(Array(10).fill(200));
});
