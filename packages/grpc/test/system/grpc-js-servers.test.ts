import { gzipSync } from 'node:zlib';
import { Metadata, type Server, type ServerDuplexStream, status as STATUS_JS } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { checkHealth, frameOf, GrpcChannel, type HealthState, STATUS } from '../../src/index.js';
import { byteServer } from '../support/byte-server.js';
import { collectedCall } from '../support/collected-call.js';
import { Gate, until } from '../support/gate.js';

const open: { servers: Server[]; channels: GrpcChannel[] } = { servers: [], channels: [] };

afterEach(() => {
  for (const channel of open.channels.splice(0)) channel.destroy();
  for (const server of open.servers.splice(0)) server.forceShutdown();
});

async function connected(
  handlers: Parameters<typeof byteServer>[0],
  options: Parameters<typeof byteServer>[1] = {},
  channelOptions: Partial<ConstructorParameters<typeof GrpcChannel>[0]> = {},
): Promise<GrpcChannel> {
  const { server, port } = await byteServer(handlers, options);
  open.servers.push(server);
  const channel = new GrpcChannel({ target: `127.0.0.1:${port}`, ...channelOptions });
  open.channels.push(channel);
  return channel;
}

function echoStream(call: ServerDuplexStream<Buffer, Buffer>): void {
  call.on('data', (message: Buffer) => call.write(message));
  call.on('end', () => call.end());
}

test('messages of any size come back byte for byte and in order over one stream', async () => {
  const channel = await connected({ stream: echoStream });
  const size = fc.oneof(fc.nat(100), fc.integer({ min: 16_000, max: 17_000 }), fc.nat(4 * 1024 * 1024));
  await fc.assert(
    fc.asyncProperty(fc.array(size, { maxLength: 10 }), async (sizes) => {
      const messages = sizes.map((bytes, i) => Buffer.alloc(bytes, `${i}-${bytes}.`));
      const call = collectedCall(channel, '/a.B/Stream', {}, messages);
      expect(await call.ended).toMatchObject({ status: STATUS.OK, isUnseen: false });
      expect(call.messages.length).toBe(messages.length);
      for (const [i, message] of call.messages.entries()) {
        expect(message.equals(messages[i] as Buffer)).toBe(true);
      }
    }),
    { numRuns: 15 },
  );
});

test('metadata, status, message and details pass both ways', async () => {
  const received = new Gate<Metadata>();
  const channel = await connected({
    unary: (call, callback) => {
      received.open(call.metadata);
      const headers = new Metadata();
      headers.set('x-head', 'h');
      call.sendMetadata(headers);
      const trailers = new Metadata();
      trailers.set('tail-bin', Buffer.from([0, 1]));
      trailers.set('grpc-status-details-bin', Buffer.from([8, 9]));
      callback({ code: STATUS_JS.ABORTED, details: 'größer als 100 %', metadata: trailers });
    },
  });
  const metadata = { 'x-plain': 'v', 'trace-bin': 'AAEC', te: 'nonsense', 'content-type': 'text/plain' };
  const call = collectedCall(channel, '/a.B/Unary', { metadata }, ['m']);
  const end = await call.ended;
  expect(end).toMatchObject({ status: STATUS.ABORTED, message: 'größer als 100 %', isUnseen: false });
  expect(end.trailers).toMatchObject({
    'tail-bin': expect.stringMatching(/^AAE/),
    'grpc-status-details-bin': expect.stringMatching(/^CAk/),
  });
  expect((await received.opened).get('x-plain')).toEqual(['v']);
  expect((await received.opened).get('trace-bin')).toEqual([Buffer.from([0, 1, 2])]);
  expect(call.headers()?.['x-head']).toBe('h');
  expect(call.ends.length).toBe(1);
});

test('a method that is not there is UNIMPLEMENTED, by a trailers-only answer', async () => {
  const channel = await connected({});
  expect(await collectedCall(channel, '/a.B/Nothing', {}, ['m']).ended).toMatchObject({
    status: STATUS.UNIMPLEMENTED,
    isUnseen: false,
  });
});

test('a deadline is sent, and kept here too', async () => {
  const deadline = new Gate<Date | number>();
  const channel = await connected({ unary: (call) => deadline.open(call.getDeadline()) });
  const call = collectedCall(channel, '/a.B/Unary', { timeoutMs: 2000 }, ['m']);
  expect((await call.ended).status).toBe(STATUS.DEADLINE_EXCEEDED);
  expect(Number(await deadline.opened)).toBeLessThan(Number.POSITIVE_INFINITY);
  await until(() => channel.openCalls === 0);
});

test('a deadline that has passed already ends the call, after call() has returned', async () => {
  const channel = await connected({});
  const call = collectedCall(channel, '/a.B/Unary', { timeoutMs: 0 });
  expect(call.ends).toEqual([]);
  expect(await call.ended).toMatchObject({ status: STATUS.DEADLINE_EXCEEDED, isUnseen: true });
});

test('a cancelled call is CANCELLED here and there, and nothing follows', async () => {
  const arrived = new Gate();
  const cancelled = new Gate();
  const channel = await connected({
    stream: (call) => {
      call.write(Buffer.from('first'));
      call.on('data', () => {});
      call.on('cancelled', () => cancelled.open());
      arrived.open();
    },
  });
  const first = new Gate();
  const call = collectedCall(channel, '/a.B/Stream', {}, undefined, () => first.open());
  call.call.write(frameOf(Buffer.from('m')));
  await arrived.opened;
  await first.opened;
  call.call.cancel();
  call.call.cancel();
  call.call.write(frameOf(Buffer.from('late')));
  call.call.end();
  expect(await call.ended).toMatchObject({ status: STATUS.CANCELLED });
  await cancelled.opened;
  await until(() => channel.openCalls === 0);
  expect(call.ends.length).toBe(1);
});

test('answers before an error are kept', async () => {
  const channel = await connected({
    stream: (call) => {
      call.write(Buffer.from('1'));
      call.write(Buffer.from('2'));
      call.emit('error', { code: STATUS_JS.DATA_LOSS, details: 'lost' });
    },
  });
  const call = collectedCall(channel, '/a.B/Stream', {}, ['a', 'b', 'c']);
  expect(await call.ended).toMatchObject({ status: STATUS.DATA_LOSS, message: 'lost' });
  expect(call.messages.map(String)).toEqual(['1', '2']);
});

test('a status that comes while the caller still sends ends the call and frees its stream', async () => {
  const channel = await connected({ stream: (call) => call.end() });
  const call = collectedCall(channel, '/a.B/Stream');
  call.call.write(frameOf(Buffer.from('m')));
  expect((await call.ended).status).toBe(STATUS.OK);
  await until(() => channel.openCalls === 0);
});

test('an answer that is too large is RESOURCE_EXHAUSTED', async () => {
  const channel = await connected({ unary: (_call, callback) => callback(null, Buffer.alloc(100_000)) });
  const call = collectedCall(channel, '/a.B/Unary', { maxMessageBytes: 99_999 }, ['m']);
  expect(await call.ended).toMatchObject({ status: STATUS.RESOURCE_EXHAUSTED });
  expect(call.messages).toEqual([]);
  const fits = collectedCall(channel, '/a.B/Unary', { maxMessageBytes: 100_000 }, ['m']);
  expect(await fits.ended).toMatchObject({ status: STATUS.OK });
});

test('a compressed message is sent with its flag and its encoding', async () => {
  const received = new Gate<Buffer>();
  const channel = await connected({
    unary: (call, callback) => {
      received.open(call.request);
      callback(null, call.request);
    },
  });
  const ended = new Promise((resolve) => {
    const call = channel.call('/a.B/Unary', { encoding: 'gzip' }, { onFrame: () => {}, onEnd: resolve });
    call.write(frameOf(gzipSync('plain text'), true));
    call.end();
  });
  expect(await ended).toMatchObject({ status: STATUS.OK });
  expect(String(await received.opened)).toBe('plain text');
});

test('a peer that does not read makes write say so, and drains later', async () => {
  const reading = new Gate();
  const channel = await connected({
    stream: async (call) => {
      call.pause();
      await reading.opened;
      call.on('data', () => {});
      call.on('end', () => call.end());
      call.resume();
    },
  });
  const call = collectedCall(channel, '/a.B/Stream');
  const drained = new Gate();
  call.call.onDrain(() => drained.open());
  let written = 0;
  while (call.call.write(frameOf(Buffer.alloc(100_000)))) {
    if (++written > 1000) expect.unreachable();
    await new Promise((resolve) => setImmediate(resolve));
  }
  reading.open();
  await drained.opened;
  call.call.end();
  expect((await call.ended).status).toBe(STATUS.OK);
});

test('a paused call gets nothing more until it is resumed, then everything', async () => {
  const channel = await connected({
    stream: (call) => {
      for (let i = 0; i < 50; i++) call.write(Buffer.alloc(100_000, i));
      call.on('data', () => {});
      call.on('end', () => call.end());
    },
  });
  const first = new Gate();
  const call = collectedCall(channel, '/a.B/Stream', {}, ['m'], () => {
    call.call.pause();
    first.open();
  });
  await first.opened;
  const other = collectedCall(channel, '/a.B/Nothing', {}, ['m']);
  await other.ended;
  expect(call.messages.length).toBeLessThan(50);
  while (call.ends.length === 0) {
    call.call.resume();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(call.ends[0]?.status).toBe(STATUS.OK);
  expect(call.messages.length).toBe(50);
});

test('no more calls are open than the peer allows; the others wait', async () => {
  let running = 0;
  let most = 0;
  const channel = await connected(
    {
      unary: (_call, callback) => {
        running++;
        most = Math.max(most, running);
        setImmediate(() => {
          running--;
          callback(null, Buffer.from('done'));
        });
      },
    },
    { 'grpc.max_concurrent_streams': 3 },
  );
  const calls = Array.from({ length: 50 }, () => collectedCall(channel, '/a.B/Unary', {}, ['m']));
  for (const { ended } of calls) expect((await ended).status).toBe(STATUS.OK);
  expect(most).toBeLessThanOrEqual(3);
});

test('further connections are opened when the peer’s streams are all in use', async () => {
  const peers = new Set<string>();
  const waiting: (() => void)[] = [];
  const channel = await connected(
    {
      unary: (call, callback) => {
        peers.add(call.getPeer());
        waiting.push(() => callback(null, Buffer.from('done')));
      },
    },
    { 'grpc.max_concurrent_streams': 2 },
    { connections: 3 },
  );
  const calls = Array.from({ length: 8 }, () => collectedCall(channel, '/a.B/Unary', {}, ['m']));
  await until(() => waiting.length === 6);
  expect(peers.size).toBe(3);
  for (const answer of waiting.splice(0)) answer();
  await until(() => waiting.length === 2);
  for (const answer of waiting.splice(0)) answer();
  for (const { ended } of calls) expect((await ended).status).toBe(STATUS.OK);
  expect(peers.size).toBe(3);
});

test('a cancelled call that waits for a stream never reaches the peer', async () => {
  const seen: string[] = [];
  const release: (() => void)[] = [];
  const channel = await connected(
    {
      unary: (call, callback) => {
        seen.push(String(call.request));
        release.push(() => callback(null, call.request));
      },
    },
    { 'grpc.max_concurrent_streams': 1 },
  );
  const first = collectedCall(channel, '/a.B/Unary', {}, ['first']);
  await until(() => release.length === 1);
  const second = collectedCall(channel, '/a.B/Unary', {}, ['second']);
  const third = collectedCall(channel, '/a.B/Unary', {}, ['third']);
  second.call.cancel();
  expect(await second.ended).toMatchObject({ status: STATUS.CANCELLED, isUnseen: true });
  release.shift()?.();
  await first.ended;
  await until(() => release.length === 1);
  release.shift()?.();
  expect((await third.ended).status).toBe(STATUS.OK);
  expect(seen).toEqual(['first', 'third']);
});

test('headers that cannot be sent end the call as INTERNAL', async () => {
  const channel = await connected({ unary: (call, callback) => callback(null, call.request) });
  expect(await collectedCall(channel, '/a.B/Unary', { metadata: { 'a b': 'x' } }, ['m']).ended).toMatchObject(
    {
      status: STATUS.INTERNAL,
      isUnseen: true,
      message: expect.stringContaining('cannot be sent'),
    },
  );
  expect((await collectedCall(channel, '/a.B/Unary', {}, ['m']).ended).status).toBe(STATUS.OK);
});

test('a server without the health service is unimplemented', async () => {
  const channel = await connected({});
  const state = await new Promise<HealthState | Error>((resolve) => {
    checkHealth(channel, { timeoutMs: 10_000 }, resolve);
  });
  expect(state).toBe('unimplemented');
});
