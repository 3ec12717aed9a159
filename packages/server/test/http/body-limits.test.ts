import { randomBytes } from 'node:crypto';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { VirtualClock } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { inflateBody } from '../../src/http/request-body.js';
import { HttpStage } from './support/http-stage.js';
import { get, post } from './support/raw-client.js';

const limits = { maxBodyBytes: 1000 };

function quickBrotli(body: Buffer): Buffer {
  return brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } });
}

describe('a body over the limit', () => {
  test('by what is declared is refused before it comes, and the connection closed', async () => {
    const stage = await HttpStage.open({ limits });
    const client = await stage.client();
    client.send('POST /held HTTP/1.1\r\nhost: a\r\ncontent-length: 1001\r\n\r\n');
    const { status, headers, body } = await client.answer();
    expect(status).toBe(413);
    expect(headers.get('connection')).toBe('close');
    expect(JSON.parse(body)).toMatchObject({
      code: 'TOO_LARGE',
      where: 'body',
      detail: 'body: expected at most 1000 bytes (server.limits.body_bytes), got more.',
    });
    client.socket.end();
    await client.closed();
    expect(stage.held).toEqual([]);
  });

  test('by what comes in chunks is refused as soon as it is over', async () => {
    const stage = await HttpStage.open({ limits });
    const client = await stage.client();
    client.send('POST /held HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n');
    for (let i = 0; i < 11; i++) client.send(`64\r\n${'x'.repeat(100)}\r\n`);
    expect((await client.answer()).status).toBe(413);
    client.socket.end();
    await client.closed();
    expect(stage.held).toEqual([]);
    expect(stage.ended).toEqual([{ label: '/held', status: 413 }]);
  });

  test('is answered even when the client sends all of it before it reads', async () => {
    const stage = await HttpStage.open({ limits });
    const client = await stage.client();
    client.send(post('/echo', 'x'.repeat(2_000_000)));
    expect((await client.answer()).status).toBe(413);
    await client.closed();
  });

  test('leaves the client time to read why before the connection closes', async () => {
    const clock = new VirtualClock();
    const stage = await HttpStage.open({ limits, clock });
    const [patient, stubborn, other] = [await stage.client(), await stage.client(), await stage.client()];
    for (const client of [patient, stubborn]) {
      client.send('POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 1001\r\n\r\n');
      expect((await client.answer()).status).toBe(413);
    }
    expect((await other.send(get('/')).answer()).status).toBe(200);
    expect(stage.server.openConnections).toBe(3);
    await patient.send('x'.repeat(1001)).closed();
    await clock.advance(1000);
    await stubborn.closed();
    await stage.connectionsLeft(1);
  });

  test('at the limit exactly is none', async () => {
    const client = await (await HttpStage.open({ limits })).client();
    expect((await client.send(post('/echo', 'x'.repeat(1000))).answer()).status).toBe(200);
    const chunked = 'POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n';
    client.send(`${chunked}3e8\r\n${'y'.repeat(1000)}\r\n0\r\n\r\n`);
    expect((await client.answer()).body).toBe('y'.repeat(1000));
  });
});

describe('a compressed body', () => {
  test.each([
    ['gzip', gzipSync],
    ['GZip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
    ['identity', Buffer.from],
  ])('as %s is decompressed', async (encoding, compress) => {
    const client = await (await HttpStage.open({ limits })).client();
    const text = 'ä'.repeat(400);
    client.send(post('/echo', compress(Buffer.from(text)), `content-encoding: ${encoding}\r\n`));
    expect((await client.answer()).body).toBe(text);
  });

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', quickBrotli],
  ])('as %s that grows beyond the limit is refused', async (encoding, compress) => {
    const stage = await HttpStage.open({ limits: { maxBodyBytes: 100_000 } });
    const client = await stage.client();
    const bomb = compress(Buffer.concat([randomBytes(5000), Buffer.alloc(10_000_000)]));
    expect(bomb.length).toBeLessThan(20_000);
    const { status, body } = await client
      .send(post('/held', bomb, `content-encoding: ${encoding}\r\n`))
      .answer();
    expect(status).toBe(413);
    expect(JSON.parse(body).detail).toBe(
      'body: expected at most 100000 bytes decompressed (server.limits.body_bytes), got more.',
    );
    expect(stage.held).toEqual([]);
  });

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', quickBrotli],
  ])(
    'as %s that grows more than a hundredfold is refused, but a small one is not',
    async (encoding, compress) => {
      const stage = await HttpStage.open();
      const client = await stage.client();
      const send = (bytes: number) =>
        client.send(post('/echo', compress(Buffer.alloc(bytes)), `content-encoding: ${encoding}\r\n`));
      const { status, body } = await send(4_000_000).answer();
      expect(status).toBe(413);
      expect(JSON.parse(body).detail).toMatch(
        /^body: expected at most \d+ bytes decompressed from \d+, got more: send it uncompressed\.$/,
      );
      expect((await send(65_536).answer()).status).toBe(200);
    },
  );

  test('is not inflated beyond the limit', () => {
    let most: number | undefined;
    inflateBody(
      (_body, { maxOutputLength }) => (most = maxOutputLength),
      Buffer.of(1),
      500,
      () => {},
    );
    expect(most).toBe(500);
  });

  test.each([
    ['cut off', gzipSync('some text').subarray(0, -5)],
    ['garbage', Buffer.from('this was never compressed')],
    ['empty', Buffer.from('')],
  ])('that is %s is refused with 400, or is empty', async (what, body) => {
    const stage = await HttpStage.open();
    const client = await stage.client();
    const answer = await client.send(post('/echo', body, 'content-encoding: gzip\r\n')).answer();
    expect(answer.status).toBe(what === 'empty' ? 200 : 400);
    if (what !== 'empty')
      expect(JSON.parse(answer.body)).toMatchObject({ code: 'BAD_REQUEST', where: 'body' });
    expect((await client.send(get('/')).answer()).status).toBe(200);
  });

  test.each(['zstd', 'gzip, br', '__proto__'])(
    'as %s is refused with those that are known',
    async (encoding) => {
      const client = await (await HttpStage.open()).client();
      const answer = await client.send(post('/echo', 'x', `content-encoding: ${encoding}\r\n`)).answer();
      expect(answer.status).toBe(415);
      expect(answer.headers.get('accept-encoding')).toBe('gzip, deflate, br');
    },
  );
});

describe('Expect: 100-continue', () => {
  const expecting = (path: string, bytes: number) =>
    `POST ${path} HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: ${bytes}\r\n\r\n`;

  test('is told to go on, and then answered', async () => {
    const client = await (await HttpStage.open()).client();
    expect((await client.send(expecting('/echo', 4)).answer()).status).toBe(100);
    expect((await client.send('body').answer()).body).toBe('body');
  });

  test.each([
    ['/nope', 10, 404],
    ['/echo', 1001, 413],
  ])('%s with %d bytes is refused without being told to go on', async (path, bytes, status) => {
    const stage = await HttpStage.open({ limits });
    const client = await stage.client();
    const answer = await client.send(expecting(path, bytes)).answer();
    expect(answer.status).toBe(status);
    expect(answer.headers.get('connection')).toBe('close');
    client.socket.end();
    await client.closed();
  });

  test('another expectation is ignored', async () => {
    const client = await (await HttpStage.open()).client();
    expect((await client.send(post('/echo', 'x', 'expect: miracles\r\n')).answer()).body).toBe('x');
  });
});
