import { VirtualClock } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { HttpStage } from './support/http-stage.js';
import { get, post } from './support/raw-client.js';

describe('a client that hangs up', () => {
  test('while its request is worked on: the handler hears it once, the call counts as 499', async () => {
    const stage = await HttpStage.open();
    const client = await stage.client();
    client.send(post('/held', 'x'));
    const call = await stage.heldCall();
    let heard = 0;
    const gone = new Promise<void>((resolve) => {
      call.onGone(() => {
        heard += 1;
        resolve();
      });
    });
    client.hangUp();
    await gone;
    expect(call.isSettled).toBe(true);
    call.reply(200, {}, 'too late');
    call.fail(new Error('too late'));
    expect(heard).toBe(1);
    expect(stage.ended).toEqual([{ label: '/held', status: 499 }]);
    expect(stage.faults).toEqual([]);
    expect(stage.server.inFlight).toBe(0);
  });

  test('before the handler asked: it is told as soon as it asks', async () => {
    const stage = await HttpStage.open();
    const client = await stage.client();
    client.send(get('/held'));
    const call = await stage.heldCall();
    client.hangUp();
    await stage.until(() => stage.ended.length === 1);
    let heard = 0;
    call.onGone(() => {
      heard += 1;
    });
    expect(heard).toBe(1);
  });

  test('while its body is still arriving: no handler is called', async () => {
    const stage = await HttpStage.open();
    const client = await stage.client();
    client.send('POST /held HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nhalf');
    await stage.until(() => stage.started.length === 1);
    client.hangUp();
    await stage.until(() => stage.ended.length === 1);
    expect(stage.held).toEqual([]);
    expect(stage.ended).toEqual([{ label: '/held', status: 499 }]);
  });

  test('with several requests open: each of their handlers hears it', async () => {
    const stage = await HttpStage.open();
    const client = await stage.client();
    client.send(get('/held') + get('/held') + get('/held'));
    await stage.heldCall(3);
    const heard: number[] = [];
    stage.held.forEach((call, i) => {
      call.onGone(() => heard.push(i));
    });
    client.hangUp();
    await stage.until(() => stage.ended.length === 3);
    expect(heard).toEqual([0, 1, 2]);
  });

  test('after its answer: nobody hears it', async () => {
    const stage = await HttpStage.open();
    const client = await stage.client();
    client.send(get('/held'));
    const call = await stage.heldCall();
    let heard = 0;
    call.onGone(() => {
      heard += 1;
    });
    call.reply(200, {}, 'done');
    await client.answer();
    client.hangUp();
    await stage.server.close();
    call.onGone(() => {
      heard += 1;
    });
    expect(heard).toBe(0);
    expect(stage.ended).toEqual([{ label: '/held', status: 200 }]);
  });

  test('a listener that throws disturbs neither the others nor the server', async () => {
    const stage = await HttpStage.open();
    const client = await stage.client();
    client.send(get('/held'));
    const call = await stage.heldCall();
    call.onGone(() => {
      throw new Error('listener');
    });
    const gone = new Promise<void>((resolve) => call.onGone(resolve));
    client.hangUp();
    await gone;
    expect(stage.faults).toMatchObject([{ error: new Error('listener') }]);
  });
});

describe('the time for a request', () => {
  /** Only the time for requests has a timer then. */
  const noOtherTimes = { headersTimeoutMs: 0, receiveTimeoutMs: 0, keepAliveTimeoutMs: 0 };

  test('up, the client is told 504 and the handler that its answer is not wanted', async () => {
    const clock = new VirtualClock();
    const stage = await HttpStage.open({ clock, limits: { ...noOtherTimes, requestTimeoutMs: 1000 } });
    const client = await stage.client();
    client.send(get('/held'));
    const first = await stage.heldCall(1);
    await clock.advance(600);
    client.send(get('/held'));
    const second = await stage.heldCall(2);
    let heard = 0;
    first.onGone(() => {
      heard += 1;
    });
    await clock.advance(400);
    const { status, body } = await client.answer();
    expect(status).toBe(504);
    expect(JSON.parse(body)).toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      detail: 'No response within 1000 ms.',
    });
    expect(heard).toBe(1);
    expect(second.isSettled).toBe(false);
    await clock.advance(600);
    expect((await client.answer()).status).toBe(504);
    expect(clock.pendingTimers).toBe(0);
  });

  test('up while the body arrives, the client is told 408, and the rest of it reaches no handler', async () => {
    const clock = new VirtualClock();
    const stage = await HttpStage.open({ clock, limits: { requestTimeoutMs: 1000 } });
    const client = await stage.client();
    client.send('POST /held HTTP/1.1\r\nhost: a\r\ncontent-length: 8\r\n\r\nhalf');
    await stage.until(() => stage.started.length === 1);
    await clock.advance(1000);
    expect((await client.answer()).status).toBe(408);
    await client.send('half').closed();
    await stage.connectionsLeft(0);
    expect(stage.held).toEqual([]);
  });

  test('needs one timer for any number of requests, and none when it is off', async () => {
    for (const [requestTimeoutMs, timers] of [
      [1000, 1],
      [0, 0],
    ] as const) {
      const clock = new VirtualClock();
      const stage = await HttpStage.open({ clock, limits: { ...noOtherTimes, requestTimeoutMs } });
      const client = await stage.client();
      client.send(get('/held').repeat(10));
      await stage.heldCall(10);
      expect(clock.pendingTimers).toBe(timers);
    }
  });
});
