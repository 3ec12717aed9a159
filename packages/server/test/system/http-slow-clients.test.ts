/** Clients that take their time, against the real clock: the limits are Node's own timers. */
import { describe, expect, test } from 'vitest';
import { HttpStage } from '../http/support/http-stage.js';
import { get, post } from '../http/support/raw-client.js';

describe('a client that is slow', () => {
  test('with its headers is told 408, however many bytes it drips', async () => {
    const stage = await HttpStage.open({ limits: { headersTimeoutMs: 300 } });
    const client = await stage.client();
    client.send('GET / HTTP/1.1\r\nhost: a\r\n');
    const drip = setInterval(() => client.send('x: y\r\n'), 20);
    const { status, body } = await client.answer().finally(() => clearInterval(drip));
    expect(status).toBe(408);
    expect(JSON.parse(body).code).toBe('REQUEST_TIMEOUT');
    await client.closed();
    await stage.connectionsLeft(0);
  });

  test('with its body is told 408, and its handler is not called', async () => {
    const stage = await HttpStage.open({ limits: { receiveTimeoutMs: 300 } });
    const client = await stage.client();
    client.send('POST /held HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n');
    const drip = setInterval(() => client.send('x'), 20);
    const { status } = await client.answer().finally(() => clearInterval(drip));
    expect(status).toBe(408);
    await client.closed();
    expect(stage.held).toEqual([]);
    expect(stage.ended).toEqual([{ label: '/held', status: 408 }]);
  });

  test('and sends nothing at all is cut off without a word', async () => {
    const stage = await HttpStage.open({ limits: { headersTimeoutMs: 200 } });
    const client = await stage.client();
    await client.closed();
    expect(client.unread).toBe('');
  });

  test('to ask again is cut off after the keep-alive time', async () => {
    const stage = await HttpStage.open({ limits: { keepAliveTimeoutMs: 200 } });
    const client = await stage.client();
    await client.send(get('/')).answer();
    await client.closed();
    await stage.connectionsLeft(0);
  });

  test('to read its answer is cut off, and the answer let go', async () => {
    const large = Buffer.alloc(50_000_000);
    const stage = await HttpStage.open({ limits: { keepAliveTimeoutMs: 300 } }, [
      { method: 'GET', path: '/large', handle: (call) => call.reply(200, {}, large) },
    ]);
    const client = await stage.client();
    client.socket.pause();
    client.send(get('/large'));
    await stage.until(() => stage.ended.length === 1);
    await stage.connectionsLeft(0);
    client.socket.resume();
    await client.closed();
    expect(client.unread.length).toBeLessThan(large.length);
  });

  test('among a hundred who are not keeps none of them waiting', async () => {
    const stage = await HttpStage.open({ limits: { headersTimeoutMs: 3000, receiveTimeoutMs: 3000 } });
    const slow = await Promise.all(Array.from({ length: 100 }, () => stage.client()));
    for (const client of slow) client.send('POST /echo HTTP/1.1\r\nhost: a\r\ncontent-le');
    const quick = await Promise.all(Array.from({ length: 100 }, () => stage.client()));
    const answers = await Promise.all(quick.map((client) => client.send(post('/echo', 'x')).answer()));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const told = await Promise.all(slow.map((client) => client.answer()));
    expect(new Set(told.map(({ status }) => status))).toEqual(new Set([408]));
  });

  test('to leave after a refusal is not waited for long', async () => {
    const stage = await HttpStage.open({ limits: { maxBodyBytes: 10, maxConnections: 1 } });
    const [first, refused] = [await stage.client(), await stage.client()];
    first.send('POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n');
    expect((await first.answer()).status).toBe(413);
    await first.closed();
    await refused.closed();
  });
});
