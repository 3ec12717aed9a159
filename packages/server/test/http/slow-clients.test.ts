/** Clients that take their time: with their requests, with reading the answers, or with both. */
import { realClock, VirtualClock } from 'batchwise';
import { describe, expect, test } from 'vitest';
import type { HttpExchange } from '../../src/http/http-exchange.js';
import type { HttpRoute } from '../../src/http/http-route.js';
import { HttpStage } from './support/http-stage.js';
import { get, post, type RawClient } from './support/raw-client.js';

/** More than all the buffers between server and client take. */
const BIG = Buffer.alloc(16 * 1024 * 1024, 'x');
const LARGE = Buffer.alloc(256 * 1024, 'x');
const large: HttpRoute = { method: 'GET', path: '/large', handle: (call) => call.reply(200, {}, LARGE) };

/** Asks for an answer that does not go out before the client reads. */
async function withUnreadAnswer(stage: HttpStage, behind = ''): Promise<RawClient> {
  const client = await stage.client();
  client.socket.pause();
  client.send(get('/held') + behind);
  (await stage.heldCall()).reply(200, {}, BIG);
  return client;
}

describe('a client that does not read', () => {
  // The time for keeping an idle connection ran from when the answer was written, not from when it had gone out.
  test('gets the whole of a long answer, however long it takes', async () => {
    const clock = new VirtualClock();
    const stage = await HttpStage.open({ clock });
    const client = await withUnreadAnswer(stage);
    await clock.advance(100_000);
    client.socket.resume();
    expect((await client.answer()).body).toHaveLength(BIG.length);
    expect((await client.send(get('/')).answer()).body).toBe('root');
    await clock.advance(70_000);
    await client.closed();
  });

  // All requests of a packet were answered into memory: 64 KB of them could ask for gigabytes.
  test.each([
    ['stays', false],
    ['closes its side', true],
  ])('is not answered in advance, and %s: it gets all answers when it does read', async (_what, isEnding) => {
    const stage = await HttpStage.open({}, [large]);
    const client = await stage.client();
    client.socket.pause();
    client.send(get('/large').repeat(200));
    if (isEnding) client.socket.end();
    await stage.until(() => stage.started.length > 0);
    const other = await stage.client();
    await other.send(get('/')).answer();
    expect(stage.started.length).toBeLessThan(100);
    client.socket.resume();
    for (let i = 0; i < 200; i++) expect((await client.answer()).body).toHaveLength(LARGE.length);
    expect(stage.started).toHaveLength(201);
    expect(stage.server.inFlight).toBe(0);
  });

  // The time for a head ran on while nobody read it.
  test('is not told that its next request came too late', async () => {
    const clock = new VirtualClock();
    const stage = await HttpStage.open({ clock });
    const [head, rest] = ['GET / HTTP/1.1\r\nho', 'st: a\r\n\r\n'];
    const client = await withUnreadAnswer(stage, head);
    client.send(rest);
    await clock.advance(20_000);
    client.socket.resume();
    expect((await client.answer()).body).toHaveLength(BIG.length);
    expect(await client.answer()).toMatchObject({ status: 200, body: 'root' });
  });

  // When little is left to go out nobody tells that it has gone, and the time for that was not taken back.
  test('and then does may wait for its next answer as long as others', async () => {
    const stage = await HttpStage.open();
    const client = await stage.client();
    client.send(get('/held'));
    const call = await stage.heldCall();
    (call as HttpExchange).connection.socket.emit('timeout');
    call.reply(200, {}, 'late');
    expect((await client.answer()).body).toBe('late');
  });

  // Nobody looked again at a connection whose answer was still going out.
  test('does not hold up a drain any longer once it has read', async () => {
    const clock = new VirtualClock();
    const stage = await HttpStage.open({ clock });
    const client = await withUnreadAnswer(stage);
    const drained = stage.server.drain(100_000);
    await clock.advance(1000);
    client.socket.resume();
    expect((await client.answer()).body).toHaveLength(BIG.length);
    expect(await drained).toBe(0);
  });

  // What it had sent meanwhile lay unread when the connection closed, which resets it under the answer.
  test('gets its answer wholly from a server that drains, whatever it has sent since', async () => {
    const clock = new VirtualClock();
    const stage = await HttpStage.open({ clock });
    const client = await withUnreadAnswer(stage);
    client.send(get('/').repeat(4000));
    const drained = stage.server.drain(100_000);
    await clock.advance(5000);
    client.socket.resume();
    expect((await client.answer()).body).toHaveLength(BIG.length);
    expect(await drained).toBe(0);
  });
});

describe('a request that is worked on is answered', () => {
  // The time for the head stayed set, and when it was up the connection was taken for an idle one.
  test('when what follows it turns out to be no HTTP', async () => {
    const clock = new VirtualClock();
    const stage = await HttpStage.open({ clock });
    const [client, other] = [await stage.client(), await stage.client()];
    client.send(`${get('/held')}GET / HT`);
    const call = await stage.heldCall();
    client.send('\0');
    await stage.until(() => stage.ended.length === 1);
    await clock.advance(20_000);
    await other.closed();
    call.reply(200, {}, 'first');
    expect(await client.answer()).toMatchObject({ status: 200, body: 'first' });
    expect((await client.answer()).status).toBe(400);
    await client.closed();
  });

  // The connection was closed at once, whoever waited on it.
  test('when a request behind it, refused already, has chunks that are none', async () => {
    const stage = await HttpStage.open();
    const [client, other] = [await stage.client(), await stage.client()];
    client.send(`${get('/held')}POST /nope HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n`);
    const call = await stage.heldCall();
    await other.send(get('/')).answer();
    call.reply(200, {}, 'first');
    expect(await client.answer()).toMatchObject({ status: 200, body: 'first' });
    expect((await client.answer()).status).toBe(404);
    await client.closed();
    expect(client.unread).toBe('');
    expect(stage.ended.map(({ status }) => status)).toEqual([404, 200, 200]);
  });

  test('when the body of one behind it, refused already, never comes', async () => {
    const clock = new VirtualClock();
    const stage = await HttpStage.open({ clock });
    const [client, other] = [await stage.client(), await stage.client()];
    client.send(`${get('/held')}POST /nope HTTP/1.1\r\nhost: a\r\ncontent-length: 8\r\n\r\nhalf`);
    const call = await stage.heldCall();
    await stage.until(() => stage.ended.length === 1);
    await clock.advance(100_000);
    await other.closed();
    call.reply(200, {}, 'first');
    expect(await client.answer()).toMatchObject({ status: 200, body: 'first' });
    expect((await client.answer()).status).toBe(404);
    await client.closed();
    expect(client.unread).toBe('');
  });

  test('when an empty line behind it comes in two pieces', async () => {
    const clock = new VirtualClock();
    const stage = await HttpStage.open({ clock });
    const [client, other] = [await stage.client(), await stage.client()];
    client.send(`${get('/')}${get('/held')}\r`);
    const call = await stage.heldCall();
    await client.answer();
    client.send('\n');
    await other.send(get('/')).answer();
    await clock.advance(20_000);
    call.reply(200, {}, 'first');
    expect(await client.answer()).toMatchObject({ status: 200, body: 'first' });
    await clock.advance(70_000);
    await client.closed();
  });

  // A body that is too large ended the connection even when it had come wholly, with the answers of those behind it.
  test('when one before it was too large', async () => {
    const stage = await HttpStage.open({ limits: { maxBodyBytes: 3 } });
    const client = await stage.client();
    client.send(Buffer.concat([post('/echo', 'four'), post('/echo', 'two')]));
    expect((await client.answer()).status).toBe(413);
    expect((await client.answer()).body).toBe('two');
  });
});

// The time for the body ran from its head, when the client had to wait for others to be answered.
test('a client that waits to be told to go on is not late', async () => {
  const clock = new VirtualClock();
  const stage = await HttpStage.open({ clock });
  const [client, other] = [await stage.client(), await stage.client()];
  client.send(
    `${get('/held')}POST /echo HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n`,
  );
  await stage.until(() => stage.started.length === 2);
  await clock.advance(100_000);
  await other.closed();
  stage.held[0]?.reply(200, {}, 'first');
  expect((await client.answer()).body).toBe('first');
  expect((await client.answer()).status).toBe(100);
  expect((await client.send('body').answer()).body).toBe('body');
});

// Timers run before sockets are read: connections were closed over requests that had come in time.
test('when the server itself was slow, what has come in the meantime is in time', async () => {
  let time = 0;
  const timers: { readonly callback: () => void; readonly delayMs: number }[] = [];
  const clock = {
    ...realClock,
    now: () => time,
    setTimer: (callback: () => void, delayMs: number) => timers.push({ callback, delayMs }),
    clearTimer: () => {},
  };
  const stage = await HttpStage.open({ clock });
  const client = await stage.client();
  await client.send(get('/')).answer();
  // In the loop's phase of timers, as those of the real clock.
  await new Promise((resolve) => setTimeout(resolve, 0));
  client.send(get('/'));
  time = 100_000;
  for (const { callback, delayMs } of timers.splice(0)) if (delayMs <= 1000) callback();
  expect((await client.answer()).body).toBe('root');
});
