import { Socket } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { HttpCall } from '../../src/http/http-route.js';
import { HttpStage } from './support/http-stage.js';
import { get, post } from './support/raw-client.js';

describe('an ordinary request', () => {
  test('is answered with its length, its id and nothing about what serves it', async () => {
    const client = await (await HttpStage.open()).client();
    const { status, headers, body } = await client.send(get('/', 'x-request-id: mine\r\n')).answer();
    expect({ status, body }).toEqual({ status: 200, body: 'root' });
    expect(Object.fromEntries(headers)).toMatchObject({ 'content-length': '4', 'x-request-id': 'mine' });
    expect([...headers.keys()].sort()).toEqual([
      'connection',
      'content-length',
      'content-type',
      'date',
      'keep-alive',
      'x-request-id',
    ]);
  });

  test('with HEAD gets the headers of GET and no body', async () => {
    const client = await (await HttpStage.open()).client();
    const head = await client.send('HEAD / HTTP/1.1\r\nhost: a\r\n\r\n').answer({ isToHead: true });
    expect(head.status).toBe(200);
    expect(head.headers.get('content-length')).toBe('4');
    expect((await client.send(get('/')).answer()).body).toBe('root');
  });

  test('has its query and parameters decoded', async () => {
    const stage = await HttpStage.open({}, [
      {
        method: 'GET',
        path: '/q/{name}',
        handle: (call) =>
          call.reply(200, {}, JSON.stringify([call.path, call.params.get('name'), call.query.get('a')])),
      },
    ]);
    const client = await stage.client();
    const { body } = await client.send(get('/q/%C3%A4?a=1%202&b')).answer();
    expect(JSON.parse(body)).toEqual(['/q/%C3%A4', 'ä', '1 2']);
  });

  test('may name the whole URL', async () => {
    const client = await (await HttpStage.open()).client();
    expect((await client.send(get('http://elsewhere:80/?x')).answer()).body).toBe('root');
    expect((await client.send(get('http://elsewhere')).answer()).body).toBe('root');
    expect((await client.send(get('ftp://elsewhere/')).answer()).status).toBe(404);
  });

  test('by HTTP/1.0 is answered and the connection closed', async () => {
    const client = await (await HttpStage.open()).client();
    const { status, body } = await client.send('GET / HTTP/1.0\r\n\r\n').answer();
    expect({ status, body }).toEqual({ status: 200, body: 'root' });
    await client.closed();
  });

  test('in chunks has them put together, however small', async () => {
    const client = await (await HttpStage.open()).client();
    client.send('POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n');
    const text = 'äöü€😀 '.repeat(40);
    for (const byte of Buffer.from(text)) {
      client.send(Buffer.concat([Buffer.from('1\r\n'), Buffer.of(byte), Buffer.from('\r\n')]));
    }
    expect((await client.send('0\r\n\r\n').answer()).body).toBe(text);
  });

  test('larger than one read comes through whole', async () => {
    const client = await (await HttpStage.open()).client();
    const text = Array.from({ length: 100_000 }, (_, i) => i).join();
    expect((await client.send(post('/echo', text)).answer()).body).toBe(text);
  });

  test('with a body that nobody wants leaves the connection usable', async () => {
    const client = await (await HttpStage.open()).client();
    client.send(post('/nope', 'some body')).send(get('/'));
    expect((await client.answer()).status).toBe(404);
    expect((await client.answer()).body).toBe('root');
  });

  test('status 204 has neither body nor length', async () => {
    const stage = await HttpStage.open({}, [
      { method: 'GET', path: '/none', handle: (call) => call.reply(204, {}, 'ignored') },
    ]);
    const { status, headers } = await (await stage.client()).send(get('/none')).answer();
    expect(status).toBe(204);
    expect(headers.has('content-length')).toBe(false);
  });
});

describe('an answer that is text', () => {
  const texts = ['plain', 'naïve', 'äöü€😀', 'x'.repeat(300_000), '€'.repeat(100_000)];
  const routes = texts.map((text, i) => ({
    method: 'GET' as const,
    path: `/text/${i}`,
    handle: (call: HttpCall) => call.reply(200, {}, text),
  }));

  test('comes through whole, whatever it is written in', async () => {
    const client = await (await HttpStage.open({}, routes)).client();
    for (const [i, text] of texts.entries()) {
      const { headers, body } = await client.send(get(`/text/${i}`)).answer();
      expect(headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
      expect(body === text).toBe(true);
    }
  });

  test('comes through whole behind one that is due', async () => {
    const stage = await HttpStage.open({}, routes);
    const client = await stage.client();
    client.send(get('/held') + texts.map((_, i) => get(`/text/${i}`)).join(''));
    // Not all of them: large answers that wait keep the next requests from being read.
    await stage.until(() => stage.ended.length > 0);
    stage.held[0]?.reply(200, {}, 'first');
    expect((await client.answer()).body).toBe('first');
    for (const text of texts) expect((await client.answer()).body === text).toBe(true);
  });

  test('goes out with its headers in one piece', async () => {
    const client = await (await HttpStage.open({}, routes)).client();
    const pieces = vi.spyOn(Socket.prototype as unknown as { _writev(): void }, '_writev');
    onTestFinished(() => pieces.mockRestore());
    expect((await client.send(get('/text/0')).answer()).body).toBe('plain');
    expect((await client.send(get('/text/2')).answer()).body).toBe('äöü€😀');
    expect(pieces).not.toHaveBeenCalled();
  });
});

describe('pipelined requests', () => {
  test('are answered in their order, whichever is done first', async () => {
    const stage = await HttpStage.open();
    const client = await stage.client();
    client.send(get('/held') + get('/held') + get('/'));
    const second = await stage.heldCall(2);
    second.reply(200, {}, 'second');
    stage.held[0]?.reply(200, {}, 'first');
    expect((await client.answer()).body).toBe('first');
    expect((await client.answer()).body).toBe('second');
    expect((await client.answer()).body).toBe('root');
  });

  test('are all answered before the complaint about what followed them', async () => {
    const stage = await HttpStage.open();
    const client = await stage.client();
    client.send(`${get('/held')}${get('/held')}NOT HTTP\r\n\r\n`);
    await stage.until(() => stage.ended.some(({ status }) => status === 400));
    stage.held[1]?.reply(200, {}, 'second');
    stage.held[0]?.reply(200, {}, 'first');
    expect((await client.answer()).body).toBe('first');
    expect((await client.answer()).body).toBe('second');
    expect((await client.answer()).status).toBe(400);
    await client.closed();
  });
});

describe('exactly one answer', () => {
  test('the first counts', async () => {
    const stage = await HttpStage.open();
    const client = await stage.client();
    client.send(get('/held'));
    const call = await stage.heldCall();
    call.reply(200, {}, 'one');
    call.reply(200, {}, 'two');
    call.fail(new Error('three'));
    expect(call.isSettled).toBe(true);
    expect((await client.answer()).body).toBe('one');
    expect((await client.send(get('/')).answer()).body).toBe('root');
    expect(stage.ended).toEqual([
      { label: '/held', status: 200 },
      { label: '/', status: 200 },
    ]);
    expect(stage.faults).toEqual([]);
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('secret');
      },
    ],
    ['rejects', () => Promise.reject(new Error('secret'))],
    [
      'rejects later',
      async () => {
        await null;
        throw new Error('secret');
      },
    ],
  ])('a handler that %s is answered for with 500, and the log has its error', async (_how, handle) => {
    const stage = await HttpStage.open({}, [{ method: 'GET', path: '/bad', handle }]);
    const client = await stage.client();
    const { status, headers, body } = await client.send(get('/bad')).answer();
    expect(status).toBe(500);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(body).not.toContain('secret');
    expect(stage.faults).toEqual([
      { message: 'GET /bad failed', error: new Error('secret'), id: JSON.parse(body).request_id },
    ]);
    expect((await client.send(get('/')).answer()).status).toBe(200);
  });

  test('what a handler throws after its answer goes to the log', async () => {
    const stage = await HttpStage.open({}, [
      {
        method: 'GET',
        path: '/late',
        handle: (call) => {
          call.reply(200, {}, 'ok');
          throw new Error('late');
        },
      },
    ]);
    expect((await (await stage.client()).send(get('/late')).answer()).body).toBe('ok');
    expect(stage.faults).toMatchObject([{ error: new Error('late') }]);
  });

  test.each([
    ['a header with a line break', 200, { a: 'b\r\nset-cookie: c' }, ''],
    ['a header name with a colon', 200, { 'a:b': 'c' }, ''],
    ['a status that is none', 42, {}, ''],
    ['no body at all', 200, {}, undefined as unknown as string],
  ])('%s cannot be sent and becomes a 500', async (_what, status, headers, body) => {
    const stage = await HttpStage.open({}, [
      { method: 'GET', path: '/bad', handle: (call) => call.reply(status, headers, body) },
    ]);
    const client = await stage.client();
    const answer = await client.send(get('/bad')).answer();
    expect(answer.status).toBe(500);
    expect(answer.headers.has('set-cookie')).toBe(false);
    expect(stage.ended).toEqual([{ label: '/bad', status: 500 }]);
    expect((await client.send(get('/')).answer()).status).toBe(200);
  });

  test("a handler's own content-length does not contradict the body", async () => {
    const stage = await HttpStage.open({}, [
      { method: 'GET', path: '/lie', handle: (call) => call.reply(200, { 'Content-Length': '99' }, 'short') },
    ]);
    const { headers, body } = await (await stage.client()).send(get('/lie')).answer();
    expect(headers.get('content-length')).toBe('5');
    expect(body).toBe('short');
  });
});
