import { status as STATUS } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { framed } from '../support/framing.js';
import { grpcClient, identity } from '../support/grpc-client.js';
import { callHeaders, FLAG, FRAME, h2Frame, headerBlock, rawSocket } from '../support/h2-frames.js';
import { batchesOf, proxied } from '../support/proxied.js';
import { rawBackend } from '../support/raw-backend.js';
import { answerOf, computePath, rawClient } from '../support/raw-client.js';
import { settledOf } from '../support/settled.js';
import { StillClock } from '../support/still-clock.js';

describe('a proxy that closes', () => {
  it('answers all accepted calls, queued and in flight, and rejects new ones', async () => {
    const backend = await rawBackend();
    const { port, proxy } = await proxied(backend, batchesOf(1));
    const client = rawClient(port);
    await backend.behaveOnce([{ do: 'hold', name: 'gate' }, { do: 'echo' }, { do: 'end' }]);
    const running = client.call('running');
    await backend.untilHeld('gate');
    const queued = [client.call('queued'), client.call('queued too')];
    // The calls have been read when a later call of the connection is answered.
    await new Promise<void>((resolve) => client.session.ping(() => resolve()));
    const closing = proxy.close();
    const settled = settledOf([running, ...queued, closing]);
    const rejected = await grpcClient(port).call('new');
    expect(rejected.status).toBe(STATUS.UNAVAILABLE);
    expect(settled()).toEqual([]);
    await backend.release('gate');
    expect(await running).toMatchObject({ status: 0, text: 'running' });
    expect(await queued[0]).toMatchObject({ status: 0, text: 'queued' });
    expect(await queued[1]).toMatchObject({ status: 0, text: 'queued too' });
    await closing;
    expect(settled()).toHaveLength(4);
    await backend.flushed();
    expect(backend.streams.flatMap(({ texts }) => texts)).toEqual(['running', 'queued', 'queued too']);
    await backend.untilSessions(0);
  });

  // GOAWAY and the end of the last call are enough: neither a close by the client nor a timer is needed.
  it('is closed after the last call, although its clients stay connected', async () => {
    const backend = await rawBackend();
    const clock = new StillClock();
    const { port, proxy } = await proxied(backend, { ...batchesOf(1), clock });
    const busy = await rawSocket(port);
    const idle = await rawSocket(port);
    await backend.behaveOnce([{ do: 'hold', name: 'gate' }, { do: 'echo' }, { do: 'end' }]);
    for (const socket of [busy, idle]) {
      socket.begin();
      await socket.until(({ type, flags }) => type === FRAME.SETTINGS && flags === FLAG.ACK);
    }
    const call = h2Frame(FRAME.HEADERS, FLAG.END_HEADERS, 1, headerBlock(callHeaders(port, computePath)));
    await busy.write(Buffer.concat([call, h2Frame(FRAME.DATA, FLAG.END_STREAM, 1, framed('running'))]));
    await backend.untilHeld('gate');
    const closing = proxy.close();
    const settled = settledOf([closing]);
    await busy.until(({ type }) => type === FRAME.GOAWAY);
    expect(settled()).toEqual([]);
    await backend.release('gate');
    await closing;
    expect(busy.frames.some(({ type, stream }) => type === FRAME.DATA && stream === 1)).toBe(true);
  });

  it('under load answers every accepted call', async () => {
    const backend = await rawBackend();
    const clock = new StillClock();
    const { port, proxy } = await proxied(backend, { ...batchesOf(1), clock });
    const client = grpcClient(port);
    let succeeded = 0;
    const ends: number[] = [];
    const waiting: (() => void)[] = [];
    const users = Array.from({ length: 16 }, async (_, user) => {
      for (;;) {
        const { status, answer } = await client.call(`${user}`);
        if (status !== 0) {
          ends.push(status);
          return;
        }
        expect(String(answer)).toBe(`${user}`);
        succeeded += 1;
        if (succeeded > 300) for (const wake of waiting.splice(0)) wake();
      }
    });
    await new Promise<void>((resolve) => waiting.push(resolve));
    await proxy.close();
    await Promise.all(users);
    expect(new Set(ends)).toEqual(new Set([STATUS.UNAVAILABLE]));
    await backend.flushed();
    const reached = backend.streams.reduce((sum, { items }) => sum + items.length, 0);
    expect(reached).toBe(succeeded);
  });

  it('waits for a stream that is passed through', async () => {
    const backend = await rawBackend();
    const { port, proxy } = await proxied(backend, batchesOf(1));
    await backend.behaveOnce([{ do: 'echo' }, { do: 'hold', name: 'gate' }, { do: 'end' }]);
    const client = rawClient(port);
    const passing = client.call('passing', { path: '/test.Echo/Other' });
    await backend.untilHeld('gate');
    const closing = proxy.close();
    const settled = settledOf([passing, closing]);
    await new Promise<void>((resolve) => client.session.once('goaway', () => resolve()));
    expect(settled()).toEqual([]);
    await backend.release('gate');
    expect(await passing).toMatchObject({ status: 0, text: 'passing' });
    await closing;
  });

  it('reports not serving to health checks', async () => {
    const backend = await rawBackend();
    const { port, proxy } = await proxied(backend, batchesOf(1));
    const watching = grpcClient(port).client.makeServerStreamRequest<Buffer, Buffer>(
      '/grpc.health.v1.Health/Watch',
      identity,
      identity,
      Buffer.alloc(0),
    );
    watching.on('error', () => {});
    const states: number[] = [];
    const isServing = new Promise<void>((resolve) => {
      watching.on('data', (state: Buffer) => {
        states.push(state[1] ?? 0);
        if (state[1] === 1) resolve();
      });
    });
    await isServing;
    const ended = new Promise<void>((resolve) => watching.once('status', () => resolve()));
    await proxy.close();
    await ended;
    expect(states.at(-1)).toBe(2);
  });

  it('stops waiting after its timeout', async () => {
    const backend = await rawBackend();
    const { port, proxy } = await proxied(backend, batchesOf(1));
    const client = rawClient(port);
    await backend.behave({ do: 'nothing' });
    const running = client.call('running');
    const { id } = await backend.nextStream();
    const queued = client.call('queued');
    await new Promise<void>((resolve) => client.session.ping(() => resolve()));
    await proxy.close({ timeoutMs: 50 });
    expect((await running).status).not.toBe(0);
    expect((await queued).status).not.toBe(0);
    expect(await backend.untilClosed(id)).toMatchObject({ answered: 0 });
  });

  // Root cause: passed-through calls and calls with an incomplete message were closed without a status.
  it('fails the calls that are open after its timeout', async () => {
    const backend = await rawBackend();
    const { port, proxy } = await proxied(backend, batchesOf(1));
    await backend.behave({ do: 'headers', headers: {} }, { do: 'nothing' });
    const client = rawClient(port);
    const begun = client.open({}, '/test.Echo/Other');
    const hasBegun = new Promise((resolve) => begun.once('response', resolve));
    begun.end(framed('passing'));
    await hasBegun;
    await backend.behave({ do: 'nothing' });
    const waiting = client.call('waiting', { path: '/test.Echo/Other' });
    const half = client.open();
    half.write(framed('half').subarray(0, 6));
    await new Promise<void>((resolve) => client.session.ping(() => resolve()));
    const answers = [answerOf(begun), waiting, answerOf(half)];
    await proxy.close({ timeoutMs: 20 });
    for (const { status, message } of await Promise.all(answers)) {
      expect([status, message]).toEqual([
        STATUS.UNAVAILABLE,
        expect.stringContaining('the proxy is closing'),
      ]);
    }
  });

  // Root cause: the timeout of the first call applied, even if that of the second was shorter.
  it.each(['drain', 'close'] as const)('ends after the timeout of the last %s()', async (first) => {
    const backend = await rawBackend();
    const { port, proxy } = await proxied(backend, batchesOf(1));
    await backend.behave({ do: 'nothing' });
    const running = rawClient(port).call('running');
    await backend.nextStream();
    const patient = proxy[first]({ timeoutMs: 3_600_000 });
    await proxy.close({ timeoutMs: 20 });
    await patient;
    expect((await running).status).toBe(STATUS.UNAVAILABLE);
  });

  it('can be closed twice', async () => {
    const backend = await rawBackend();
    const { proxy } = await proxied(backend, batchesOf(1));
    await Promise.all([proxy.close(), proxy.close()]);
    await proxy.close();
  });
});
