import { VirtualClock } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { HttpStage } from './support/http-stage.js';
import { get, post } from './support/raw-client.js';

describe('draining', () => {
  test('a server without connections is done at once', async () => {
    const clock = new VirtualClock();
    const stage = await HttpStage.open({ clock });
    expect(await stage.server.drain(1000)).toBe(0);
    expect(clock.pendingTimers).toBe(0);
    await expect(stage.client()).rejects.toThrow(/ECONNREFUSED/);
  });

  test('what was accepted is answered, and its connection closed with the answer', async () => {
    const stage = await HttpStage.open({ clock: new VirtualClock() });
    const client = await stage.client();
    client.send(post('/held', 'x'));
    const call = await stage.heldCall();
    const drained = stage.server.drain(1000);
    await expect(stage.client()).rejects.toThrow(/ECONNREFUSED/);
    call.reply(200, {}, 'done');
    const { status, headers, body } = await client.answer();
    expect([status, headers.get('connection'), body]).toEqual([200, 'close', 'done']);
    expect(await drained).toBe(0);
  });

  test('a body that is still arriving may arrive', async () => {
    const stage = await HttpStage.open({ clock: new VirtualClock() });
    const client = await stage.client();
    client.send('POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 8\r\n\r\nhalf');
    await stage.until(() => stage.started.length === 1);
    const drained = stage.server.drain(1000);
    expect((await client.send('half').answer()).body).toBe('halfhalf');
    expect(await drained).toBe(0);
  });

  test('new work on an open connection is told 503 and when to come back; health is answered', async () => {
    const stage = await HttpStage.open({ clock: new VirtualClock() });
    const [worker, prober, client] = [await stage.client(), await stage.client(), await stage.client()];
    worker.send(get('/held'));
    const call = await stage.heldCall();
    for (const other of [prober, client]) await other.send(get('/')).answer();
    const drained = stage.server.drain(1000);
    const refused = await client.send(post('/echo', 'x')).answer();
    expect([refused.status, JSON.parse(refused.body).code]).toEqual([503, 'DRAINING']);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.headers.get('connection')).toBe('close');
    expect((await prober.send(get('/health')).answer()).body).toBe('well');
    call.reply(200, {}, '');
    expect((await worker.answer()).status).toBe(200);
    expect(await drained).toBe(0);
  });

  test('of pipelined requests all are answered before the connection closes', async () => {
    const stage = await HttpStage.open({ clock: new VirtualClock() });
    const client = await stage.client();
    client.send(get('/held').repeat(3));
    await stage.heldCall(3);
    const drained = stage.server.drain(1000);
    for (const [i, call] of stage.held.entries()) call.reply(200, {}, String(i));
    for (const i of [0, 1, 2]) expect((await client.answer()).body).toBe(String(i));
    expect(await drained).toBe(0);
  });

  test('what is sent after the request whose answer closes the connection is not begun', async () => {
    const stage = await HttpStage.open({ clock: new VirtualClock() });
    const [client, prober] = [await stage.client(), await stage.client()];
    await prober.send(get('/')).answer();
    client.send(get('/held').repeat(2));
    await stage.heldCall(2);
    const drained = stage.server.drain(1000);
    stage.held[1]?.reply(200, {}, 'second');
    client.send(get('/health'));
    await prober.send(get('/health')).answer();
    expect(stage.started.filter((label) => label === '/health')).toHaveLength(1);
    stage.held[0]?.reply(200, {}, 'first');
    for (const body of ['first', 'second']) expect((await client.answer()).body).toBe(body);
    await client.closed();
    expect(client.unread).toBe('');
    expect(await drained).toBe(0);
  });

  test('idle connections are closed after a moment, those that work are not', async () => {
    const clock = new VirtualClock();
    const stage = await HttpStage.open({ clock });
    const [idle, silent, busy] = [await stage.client(), await stage.client(), await stage.client()];
    await idle.send(get('/')).answer();
    busy.send(get('/held'));
    const call = await stage.heldCall();
    const drained = stage.server.drain(10_000);
    await clock.advance(1000);
    await Promise.all([idle.closed(), silent.closed()]);
    expect(stage.server.openConnections).toBe(1);
    call.reply(200, {}, 'done');
    expect((await busy.answer()).body).toBe('done');
    expect(await drained).toBe(0);
  });

  test('when the time is up the rest is told 503, its handlers hear it, and all is closed', async () => {
    const clock = new VirtualClock();
    const stage = await HttpStage.open({ clock });
    const [client, halfway] = [await stage.client(), await stage.client()];
    client.send(get('/held'));
    const call = await stage.heldCall();
    halfway.send('POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 8\r\n\r\nhalf');
    await stage.until(() => stage.started.length === 2);
    let heard = 0;
    call.onGone(() => {
      heard += 1;
    });
    const drained = stage.server.drain(1000);
    await clock.advance(1000);
    expect(await drained).toBe(2);
    for (const one of [client, halfway]) {
      const { status, body } = await one.answer();
      expect([status, JSON.parse(body).code]).toEqual([503, 'DRAINING']);
    }
    expect(heard).toBe(1);
    expect(clock.pendingTimers).toBe(0);
  });

  test('asked for twice is the same drain', async () => {
    const stage = await HttpStage.open({ clock: new VirtualClock() });
    const client = await stage.client();
    client.send(get('/held'));
    const call = await stage.heldCall();
    const both = Promise.all([stage.server.drain(1000), stage.server.drain(1)]);
    call.reply(200, {}, '');
    expect(await both).toEqual([0, 0]);
  });
});

describe('closing', () => {
  test('ends all connections now and tells the handlers', async () => {
    const stage = await HttpStage.open();
    const client = await stage.client();
    client.send(get('/held'));
    const call = await stage.heldCall();
    let heard = 0;
    call.onGone(() => {
      heard += 1;
    });
    await stage.server.close();
    await client.closed();
    expect(heard).toBe(1);
    expect(stage.ended).toEqual([{ label: '/held', status: 499 }]);
  });

  test('ends a drain too, and may be asked for again', async () => {
    const stage = await HttpStage.open({ clock: new VirtualClock() });
    const client = await stage.client();
    client.send(get('/held'));
    await stage.heldCall();
    const drained = stage.server.drain(1000);
    await stage.server.close();
    expect(await drained).toBe(0);
    await stage.server.close();
  });
});
