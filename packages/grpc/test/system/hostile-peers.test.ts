import { createServer as createHttp1, type Server as Http1Server } from 'node:http';
import { constants, createServer as createHttp2, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { realClock } from 'batchwise';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { shortOrLong } from '../../../../scripts/test-length.js';
import { frameOf, GrpcChannel, STATUS } from '../../src/index.js';
import { collectedCall } from '../support/collected-call.js';
import { until } from '../support/gate.js';
import {
  ACK,
  END_HEADERS,
  END_STREAM,
  GOAWAY,
  HEADERS,
  headerBlock,
  PING,
  type RawPeer,
  type RawServer,
  RST_STREAM,
  rawFrame,
  rawServer,
  SETTINGS,
  setting,
  uint32,
} from '../support/raw-http2.js';

const open: { servers: { close(): void }[]; channels: GrpcChannel[] } = { servers: [], channels: [] };

afterEach(() => {
  for (const channel of open.channels.splice(0)) channel.destroy();
  for (const server of open.servers.splice(0)) server.close();
});

function channelTo(
  port: number,
  options: Partial<ConstructorParameters<typeof GrpcChannel>[0]> = {},
): GrpcChannel {
  const channel = new GrpcChannel({ target: `127.0.0.1:${port}`, ...options });
  open.channels.push(channel);
  return channel;
}

async function http2Peer(onStream: (stream: ServerHttp2Stream) => void): Promise<number> {
  const server = createHttp2();
  server.on('stream', (stream) => {
    stream.on('error', () => {});
    onStream(stream);
  });
  server.on('session', (session) => session.on('error', () => {}));
  return listening(server);
}

async function listening(server: Http2Server | Http1Server): Promise<number> {
  open.servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function rawPeer(onPeer?: (peer: RawPeer) => void): Promise<RawServer> {
  const server = await rawServer(onPeer);
  open.servers.push(server);
  return server;
}

/** Says hello, with these settings. */
const greet =
  (settings: Buffer = Buffer.alloc(0)) =>
  (peer: RawPeer) =>
    peer.send(rawFrame(SETTINGS, 0, 0, settings), rawFrame(SETTINGS, ACK, 0));

/** No timer ever fires. */
const timeless = { setTimer: () => ({}), clearTimer: () => {}, defer: realClock.defer };

const GRPC = { ':status': 200, 'content-type': 'application/grpc' };

test.each([
  [
    'a web server that knows no such page',
    { ':status': 404, 'content-type': 'text/html' },
    STATUS.UNIMPLEMENTED,
  ],
  ['a gateway without its backend', { ':status': 502, 'content-type': 'text/html' }, STATUS.UNAVAILABLE],
  ['a gateway that asks who it is', { ':status': 401 }, STATUS.UNAUTHENTICATED],
  ['a web page', { ':status': 200, 'content-type': 'text/html' }, STATUS.UNKNOWN],
  [
    'a gateway that knows gRPC',
    { ':status': 502, 'grpc-status': '8', 'grpc-message': 'busy' },
    STATUS.RESOURCE_EXHAUSTED,
  ],
])('%s is an error with the right status', async (_name, headers, status) => {
  const port = await http2Peer((stream) => {
    stream.respond(headers);
    stream.end('<html>');
  });
  const channel = channelTo(port);
  const end = await collectedCall(channel, '/a.B/C', {}, ['m']).ended;
  expect(end).toMatchObject({ status, isUnseen: false });
  await until(() => channel.openCalls === 0);
});

test.each([
  ['no trailers', {}, STATUS.UNKNOWN, 'without grpc-status'],
  ['a status that is no number', { 'grpc-status': 'fine' }, STATUS.UNKNOWN, "got 'fine'"],
  ['a status that nobody knows', { 'grpc-status': '77' }, 77, ''],
  [
    'a message that is not UTF-8',
    { 'grpc-status': '13', 'grpc-message': '%FF%zz' },
    STATUS.INTERNAL,
    '\ufffd%zz',
  ],
])('%s at the end is borne', async (_name, trailers, status, message) => {
  const port = await http2Peer((stream) => {
    stream.respond(GRPC, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    stream.end(frameOf(Buffer.from('answer')));
  });
  const call = collectedCall(channelTo(port), '/a.B/C', {}, ['m']);
  const end = await call.ended;
  expect(end.status).toBe(status);
  expect(end.message).toContain(message);
  expect(call.messages.map(String)).toEqual(['answer']);
});

test('an answer that ends within a message is INTERNAL, and what came before it is kept', async () => {
  const port = await http2Peer((stream) => {
    stream.respond(GRPC, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.concat([frameOf(Buffer.from('whole')), frameOf(Buffer.from('half')).subarray(0, 7)]));
  });
  const call = collectedCall(channelTo(port), '/a.B/C', {}, ['m']);
  expect(await call.ended).toMatchObject({
    status: STATUS.INTERNAL,
    message: expect.stringContaining('within a message'),
  });
  expect(call.messages.map(String)).toEqual(['whole']);
});

test('garbage instead of messages is INTERNAL', async () => {
  const port = await http2Peer((stream) => {
    stream.respond(GRPC);
    stream.write(Buffer.from('this is no gRPC message'));
  });
  const channel = channelTo(port);
  expect(await collectedCall(channel, '/a.B/C', {}, ['m']).ended).toMatchObject({ status: STATUS.INTERNAL });
  await until(() => channel.openCalls === 0);
});

test.each([
  [0x7, STATUS.UNAVAILABLE, true],
  [0x8, STATUS.CANCELLED, false],
  [0x2, STATUS.INTERNAL, false],
  [0xb, STATUS.RESOURCE_EXHAUSTED, false],
])('a stream reset with code %d is status %d', async (code, status, isUnseen) => {
  const { port } = await rawPeer((peer) => {
    greet()(peer);
    void peer
      .saw(({ type }) => type === HEADERS)
      .then((frame) => peer.send(rawFrame(RST_STREAM, 0, frame?.streamId ?? 1, uint32(code))));
  });
  const channel = channelTo(port);
  expect(await collectedCall(channel, '/a.B/C', {}, ['m']).ended).toMatchObject({ status, isUnseen });
  expect(channel.state).toBe('ready');
});

test('a peer that dies in a call ends it as UNAVAILABLE, not unseen; it connects again', async () => {
  const server = await rawPeer(greet());
  const channel = channelTo(server.port, { backoff: { initialMs: 1 } });
  const call = collectedCall(channel, '/a.B/C', {}, ['m']);
  await until(() => server.peers.length === 1);
  await server.peers[0]?.saw(({ type }) => type === HEADERS);
  server.peers[0]?.socket.destroy();
  expect(await call.ended).toMatchObject({
    status: STATUS.UNAVAILABLE,
    isUnseen: false,
    message: expect.stringContaining('connection'),
  });
  await until(() => channel.state === 'ready');
  const next = collectedCall(channel, '/a.B/C', {}, ['m']);
  await until(() => server.peers.length === 2);
  await server.peers[1]?.saw(({ type }) => type === HEADERS);
  expect(next.ends).toEqual([]);
  expect(channel.state).toBe('ready');
});

test.each([
  ['without an error', 0x0],
  ['with an error', 0x2],
])(
  'GOAWAY %s: what it names as not begun is unseen, new calls go to a new connection',
  async (_name, code) => {
    const server = await rawPeer(greet());
    const channel = channelTo(server.port);
    const first = collectedCall(channel, '/a.B/C', {}, ['m']);
    const second = collectedCall(channel, '/a.B/C', {}, ['m']);
    await until(() => server.peers.length === 1);
    const [peer] = server.peers;
    await peer?.saw(({ type, streamId }) => type === HEADERS && streamId === 3);
    peer?.send(rawFrame(GOAWAY, 0, 0, Buffer.concat([uint32(1), uint32(code)])));
    expect(await second.ended).toMatchObject({ status: STATUS.UNAVAILABLE, isUnseen: true });
    const third = collectedCall(channel, '/a.B/C', {}, ['m']);
    await until(() => server.peers.length === 2);
    await server.peers[1]?.saw(({ type }) => type === HEADERS);
    expect(third.ends).toEqual([]);
    if (code !== 0) {
      expect(await first.ended).toMatchObject({ status: STATUS.UNAVAILABLE, isUnseen: false });
      return;
    }
    // The first call lives on where it was.
    expect(first.ends).toEqual([]);
    peer?.send(
      rawFrame(
        HEADERS,
        END_HEADERS | 0x1,
        1,
        headerBlock({ ':status': '200', 'content-type': 'application/grpc', 'grpc-status': '0' }),
      ),
    );
    expect((await first.ended).status).toBe(STATUS.OK);
    await peer?.closed();
  },
);

test('a peer that is not there is UNAVAILABLE and unseen; in the pause calls end at once; then it is tried again', async () => {
  const server = await rawPeer(greet());
  server.close();
  const states: string[] = [];
  const channel = channelTo(server.port, { backoff: { initialMs: 20, maxMs: 20 } });
  channel.onStateChange((state) => states.push(state));
  expect(await collectedCall(channel, '/a.B/C', {}, ['m']).ended).toMatchObject({
    status: STATUS.UNAVAILABLE,
    isUnseen: true,
    message: expect.stringContaining('ECONNREFUSED'),
  });
  expect(channel.lastError?.message).toContain('ECONNREFUSED');
  const inPause = collectedCall(channel, '/a.B/C', {}, ['m']);
  expect(inPause.ends).toEqual([]);
  expect((await inPause.ended).isUnseen).toBe(true);
  await new Promise<void>((resolve) => server.server.listen(server.port, '127.0.0.1', resolve));
  await until(() => channel.state === 'ready');
  expect(states.slice(0, 3)).toEqual(['connecting', 'failing', 'connecting']);
  expect(channel.lastError).toBeUndefined();
});

// Settings counted as success, and whoever wants to stay connected connects again at once: 1,700 connections a second.
test.each([
  ['goes away', (peer: RawPeer) => peer.send(rawFrame(GOAWAY, 0, 0, Buffer.concat([uint32(0), uint32(0)])))],
  ['closes the connection', (peer: RawPeer) => peer.socket.destroy()],
])('a peer that greets and then %s is left alone for a while, and longer each time', async (_name, end) => {
  const server = await rawPeer((peer) => {
    greet()(peer);
    end(peer);
  });
  const channel = channelTo(server.port, { backoff: { initialMs: 3_600_000 } });
  channel.onStateChange((state) => {
    if (state === 'idle') channel.connect();
  });
  channel.connect();
  await until(() => channel.state === 'failing');
  expect(server.peers).toHaveLength(1);
  const call = collectedCall(channel, '/a.B/C', {}, ['m']);
  expect(await call.ended).toMatchObject({ status: STATUS.UNAVAILABLE, isUnseen: true });
});

// What nobody had called on for most of a second counted as of no use: with an age of 1 s, which grpc-go makes 0.9 s at times,
// calls that came within the pause failed.
test('a peer that takes back a connection which is no longer new is connected to again at once', async () => {
  let aheadMs = 0;
  const clock = { ...timeless, now: () => realClock.now() + aheadMs };
  const server = await rawPeer(greet());
  const channel = channelTo(server.port, { clock });
  const states: string[] = [];
  channel.onStateChange((state) => {
    states.push(state);
    if (state === 'idle') channel.connect();
  });
  channel.connect();
  await until(() => channel.state === 'ready');
  aheadMs = 300;
  server.peers[0]?.send(rawFrame(GOAWAY, 0, 0, Buffer.concat([uint32(0), uint32(0)])));
  await until(() => states.length === 5 || channel.state === 'failing');
  expect(states).toEqual(['connecting', 'ready', 'idle', 'connecting', 'ready']);
});

test('a peer that accepts and says nothing is given up after the connect time-out', async () => {
  const { port } = await rawPeer();
  const channel = channelTo(port, { connectTimeoutMs: 50 });
  expect(await collectedCall(channel, '/a.B/C', {}, ['m']).ended).toMatchObject({
    status: STATUS.UNAVAILABLE,
    isUnseen: true,
    message: expect.stringContaining('50 ms'),
  });
  expect(channel.state).toBe('failing');
});

// A server may cancel what is late, as that of grpc-go does, and be quicker than a timer here: callers heard CANCELLED.
test('a call that the peer cancels when its time is up is late', async () => {
  let aheadMs = 0;
  const clock = { ...timeless, now: () => realClock.now() + aheadMs };
  const port = await http2Peer((stream) => {
    if (stream.id !== 1) aheadMs = 60_000;
    stream.close(constants.NGHTTP2_CANCEL);
  });
  const channel = channelTo(port, { clock });
  const call = () => collectedCall(channel, '/a.B/C', { timeoutMs: 60_000 }, ['x']).ended;
  expect((await call()).status).toBe(STATUS.CANCELLED);
  expect((await call()).status).toBe(STATUS.DEADLINE_EXCEEDED);
});

test('a deadline holds while there is no connection yet', async () => {
  const { port } = await rawPeer();
  const call = collectedCall(channelTo(port), '/a.B/C', { timeoutMs: 20 }, ['m']);
  expect(await call.ended).toMatchObject({ status: STATUS.DEADLINE_EXCEEDED, isUnseen: true });
});

test('a server of HTTP/1 is no peer', async () => {
  const port = await listening(createHttp1((_request, response) => response.end('hello')));
  expect(await collectedCall(channelTo(port), '/a.B/C', {}, ['m']).ended).toMatchObject({
    status: STATUS.UNAVAILABLE,
    isUnseen: true,
  });
});

test('a peer that answers no ping is dead, and its calls end', async () => {
  const server = await rawPeer(greet());
  const channel = channelTo(server.port, { keepaliveMs: 50, keepaliveTimeoutMs: 50 });
  const end = await collectedCall(channel, '/a.B/C', {}, ['m']).ended;
  expect(end).toMatchObject({
    status: STATUS.UNAVAILABLE,
    isUnseen: false,
    message: expect.stringContaining('ping'),
  });
  expect(await server.peers[0]?.saw(({ type }) => type === PING)).toBeDefined();
});

test('a peer is not pinged without calls', async () => {
  const server = await rawPeer(greet());
  const channel = channelTo(server.port, { keepaliveMs: 5, keepaliveTimeoutMs: 5 });
  channel.connect();
  await until(() => channel.state === 'ready');
  // Another channel is pinged to death meanwhile, so the time for pings has come and gone.
  const other = channelTo((await rawPeer(greet())).port, { keepaliveMs: 20, keepaliveTimeoutMs: 20 });
  await collectedCall(other, '/a.B/C', {}, ['m']).ended;
  expect(server.peers[0]?.frames.some(({ type }) => type === PING)).toBe(false);
  expect(channel.state).toBe('ready');
});

test('a peer that allows no streams makes calls wait until it does', async () => {
  const server = await rawPeer(greet(setting(3, 0)));
  const channel = channelTo(server.port);
  const call = collectedCall(channel, '/a.B/C', {}, ['m']);
  await until(() => channel.state === 'ready');
  const [peer] = server.peers;
  expect(peer?.frames.some(({ type }) => type === HEADERS)).toBe(false);
  peer?.send(rawFrame(SETTINGS, 0, 0, setting(3, 1)));
  expect(await peer?.saw(({ type }) => type === HEADERS)).toBeDefined();
  expect(call.ends).toEqual([]);
});

test('any frames from a peer end every call once and leave no connection behind', async () => {
  const frame = fc.record({
    type: fc.nat(10),
    flags: fc.nat(255),
    streamId: fc.constantFrom(0, 1, 1, 1, 3, 2),
    payload: fc.oneof(
      fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes)),
      fc.constant(headerBlock({ ':status': '200', 'content-type': 'application/grpc' })),
      fc.constant(headerBlock({ 'grpc-status': '0' })),
      fc.constant(frameOf(Buffer.from('m'))),
    ),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(frame, { maxLength: 10 }), async (frames) => {
      const server = await rawServer((peer) => {
        greet()(peer);
        void peer
          .saw(({ type }) => type === HEADERS)
          .then(() => {
            peer.send(
              ...frames.map(({ type, flags, streamId, payload }) => rawFrame(type, flags, streamId, payload)),
            );
            peer.socket.end();
          });
      });
      const channel = new GrpcChannel({
        target: `127.0.0.1:${server.port}`,
        keepaliveMs: 20,
        keepaliveTimeoutMs: 20,
      });
      const call = collectedCall(channel, '/a.B/C', {}, ['m']);
      await call.ended;
      await channel.close();
      server.close();
      expect(call.ends.length).toBe(1);
    }),
    { numRuns: shortOrLong(40, 3000) },
  );
});

// Node destroys a session from within nghttp2's callbacks when a frame is invalid; nghttp2 then read on in it,
// and the next malformed frame made it fail an assertion that ended the process.
test('an invalid ALTSVC frame and a malformed frame behind it end the connection, not the process', async () => {
  const { port } = await rawPeer((peer) => {
    greet()(peer);
    void peer
      .saw(({ type }) => type === HEADERS)
      .then(() =>
        peer.send(
          rawFrame(0xa, 0, 3, Buffer.from('\0\x0bgrpc-status\x010', 'latin1')),
          rawFrame(SETTINGS, 0, 1, Buffer.alloc(44)),
        ),
      );
  });
  const channel = channelTo(port, { keepaliveMs: 20, keepaliveTimeoutMs: 20 });
  expect(await collectedCall(channel, '/a.B/C', {}, ['m']).ended).toMatchObject({
    status: STATUS.UNAVAILABLE,
  });
});

test('close lets calls end, destroy does not; both take no new ones', async () => {
  const streams: ServerHttp2Stream[] = [];
  const port = await http2Peer((stream) => streams.push(stream));
  const channel = channelTo(port);
  const call = collectedCall(channel, '/a.B/C', {}, ['m']);
  await until(() => streams.length === 1);
  const closed = channel.close();
  expect(await collectedCall(channel, '/a.B/C', {}, ['m']).ended).toMatchObject({
    status: STATUS.UNAVAILABLE,
    isUnseen: true,
  });
  streams[0]?.respond({ ...GRPC, 'grpc-status': '0' }, { endStream: true });
  expect((await call.ended).status).toBe(STATUS.OK);
  await closed;

  const other = channelTo(port);
  const lost = collectedCall(other, '/a.B/C', {}, ['m']);
  await until(() => streams.length === 2);
  other.destroy();
  expect(await lost.ended).toMatchObject({ status: STATUS.UNAVAILABLE });
  await other.close();
  expect(other.state).toBe('closed');
});

test('a raw stream carries a call as it is; without connection there is an error instead', async () => {
  const port = await http2Peer((stream) => {
    stream.respond(GRPC, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.pipe(stream);
  });
  const channel = channelTo(port);
  const chunks: Buffer[] = [];
  await new Promise<void>((resolve, reject) => {
    channel.openStream({ ':path': '/a.B/C', 'content-type': 'application/grpc' }, (error, stream) => {
      if (stream === undefined) return reject(error);
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('close', resolve);
      stream.end(frameOf(Buffer.from('as it is')));
    });
  });
  expect(Buffer.concat(chunks).equals(frameOf(Buffer.from('as it is')))).toBe(true);
  channel.destroy();
  const error = await new Promise((resolve) => channel.openStream({ ':path': '/a.B/C' }, resolve));
  expect(error).toMatchObject({ status: STATUS.UNAVAILABLE });
});

test('a connection that has used up its stream numbers is replaced', async () => {
  let sessions = 0;
  const server = createHttp2();
  server.on('session', () => sessions++);
  server.on('stream', (stream) => stream.respond({ ...GRPC, 'grpc-status': '0' }, { endStream: true }));
  const channel = channelTo(await listening(server));
  await new Promise<void>((resolve) => {
    channel.openStream({ ':path': '/a.B/C' }, (_error, stream) => {
      if (stream === undefined) return expect.unreachable();
      (stream.session as unknown as { setNextStreamID(id: number): void }).setNextStreamID(2 ** 31 - 5);
      stream.resume();
      stream.end();
      stream.on('close', resolve);
    });
  });
  for (let i = 0; i < 5; i++) {
    expect((await collectedCall(channel, '/a.B/C', {}, ['m']).ended).status).toBe(STATUS.OK);
  }
  expect(sessions).toBe(2);
});

const TOO_MUCH = Buffer.alloc(1_000_000);

// Node closes a stream that was reset without an error only when all of its request is sent, which it never is: the
// call did not end, and its place on the connection stayed taken.
test('a reset without an error ends a call whose request was not taken', async () => {
  const server = await rawPeer(greet());
  const channel = channelTo(server.port);
  const call = collectedCall(channel, '/a.B/C', {}, [TOO_MUCH]);
  await until(() => server.peers.length === 1);
  await server.peers[0]?.saw(({ type }) => type === HEADERS);
  server.peers[0]?.send(rawFrame(RST_STREAM, 0, 1, uint32(0)));
  expect(await call.ended).toMatchObject({ status: STATUS.UNKNOWN, isUnseen: false });
  await until(() => channel.openCalls === 0);
});

// The same, and without the reset the stream stayed open at both ends.
test.each([
  ['and resets the rest', true],
  ['and leaves it at that', false],
])('a peer that answers before it has read the request %s is left with no stream', async (_name, isReset) => {
  const server = await rawPeer(greet());
  const channel = channelTo(server.port);
  const call = collectedCall(channel, '/a.B/C', {}, [TOO_MUCH]);
  await until(() => server.peers.length === 1);
  const [peer] = server.peers as [RawPeer];
  await peer.saw(({ type }) => type === HEADERS);
  const answer = headerBlock({
    ':status': '200',
    'content-type': 'application/grpc',
    'grpc-status': '8',
    'grpc-message': 'too large',
  });
  peer.send(
    rawFrame(HEADERS, END_HEADERS | END_STREAM, 1, answer),
    ...(isReset ? [rawFrame(RST_STREAM, 0, 1, uint32(0))] : []),
  );
  expect(await call.ended).toMatchObject({ status: STATUS.RESOURCE_EXHAUSTED, message: 'too large' });
  await until(() => channel.openCalls === 0);
  if (!isReset) expect((await peer.saw(({ type }) => type === RST_STREAM))?.payload.readUInt32BE(0)).toBe(8);
});

// The peer's limit was not looked at; gRPC's own servers drop the connection, with all calls on it, for one that is above it.
test('a call with more headers than the peer takes fails alone, and is not sent', async () => {
  const server = await rawPeer(greet(setting(6, 1000)));
  const channel = channelTo(server.port);
  channel.connect();
  await until(() => channel.state === 'ready');
  const large = collectedCall(channel, '/a.B/Large', { metadata: { 'x-large': 'x'.repeat(700) } }, ['m']);
  expect(await large.ended).toMatchObject({
    status: STATUS.RESOURCE_EXHAUSTED,
    isUnseen: true,
    message: expect.stringMatching(
      /the server accepts at most 1000 bytes of headers .* the call has 1\d\d\d/,
    ),
  });
  const raw = new Promise<Error | undefined>((resolve) => {
    channel.openStream({ ':path': '/a.B/Raw', 'x-large': 'x'.repeat(900) }, resolve);
  });
  expect(await raw).toMatchObject({ status: STATUS.RESOURCE_EXHAUSTED });
  collectedCall(channel, '/a.B/Small', { metadata: { 'x-small': 'x'.repeat(300) } }, ['m']);
  await server.peers[0]?.saw(({ type }) => type === HEADERS);
  expect(server.peers[0]?.frames.filter(({ type }) => type === HEADERS)).toHaveLength(1);
  expect(channel.openCalls).toBe(1);
});

test('what goes wrong with a peer names it', async () => {
  const server = await rawPeer(greet());
  const channel = channelTo(server.port);
  const call = collectedCall(channel, '/a.B/C', {}, ['m']);
  await until(() => server.peers.length === 1);
  await server.peers[0]?.saw(({ type }) => type === HEADERS);
  server.peers[0]?.socket.destroy();
  expect((await call.ended).message).toMatch(`the connection to 127.0.0.1:${server.port} was lost`);
});
