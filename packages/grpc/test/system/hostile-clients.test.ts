import { connect as connectHttp2, constants } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { shortOrLong } from '../../../../scripts/test-length.js';
import {
  frameOf,
  GrpcError,
  GrpcServer,
  type GrpcServerLimits,
  type IncomingCall,
  STATUS,
} from '../../src/index.js';
import { byteClient, unary } from '../support/byte-client.js';
import { Gate, until } from '../support/gate.js';
import {
  ACK,
  CONTINUATION,
  callHeaders,
  DATA,
  END_HEADERS,
  END_STREAM,
  GOAWAY,
  HEADERS,
  headerBlock,
  PING,
  PREFACE,
  RawPeer,
  RST_STREAM,
  rawFrame,
  SETTINGS,
  setting,
  uint32,
  WINDOW_UPDATE,
} from '../support/raw-http2.js';

let server: GrpcServer | undefined;
const peers: RawPeer[] = [];

afterEach(async () => {
  for (const { socket } of peers.splice(0)) socket.destroy();
  server?.destroy();
  await server?.close();
});

const echo = (call: IncomingCall) => call.readUnary((frame) => call.answer(frame));

async function serve(limits: Partial<GrpcServerLimits> = {}, onCall = echo): Promise<number> {
  server = new GrpcServer({ onCall, limits });
  return (await server.listen({ host: '127.0.0.1', port: 0 })).port;
}

async function greeted(port: number, settings?: Buffer): Promise<RawPeer> {
  const peer = await RawPeer.greeted(port, settings);
  peers.push(peer);
  return peer;
}

/** A decent client is served, whatever the others do. */
async function expectServing(port: number): Promise<void> {
  const client = byteClient(port);
  const { error, answer } = await unary(client, '/a.B/C', Buffer.from('fine'));
  client.close();
  expect(error).toBeNull();
  expect(answer?.toString()).toBe('fine');
}

const completeCall = (streamId: number, message = Buffer.from('m')) =>
  Buffer.concat([
    rawFrame(HEADERS, END_HEADERS, streamId, callHeaders()),
    rawFrame(DATA, END_STREAM, streamId, frameOf(message)),
  ]);

test('garbage instead of HTTP/2 ends that connection only', async () => {
  const port = await serve();
  for (const garbage of [
    'GET / HTTP/1.1\r\nhost: x\r\n\r\n',
    '\0\0\0\0'.repeat(100),
    '\x16\x03\x01\x02\0\x01',
  ]) {
    const peer = await RawPeer.connected(port);
    peers.push(peer);
    peer.send(Buffer.from(garbage, 'latin1'));
    peer.socket.end();
    await peer.closed();
  }
  await expectServing(port);
  await until(() => server?.openConnections === 0);
});

test('any frames at all do not take the server down, nor leave a connection behind', async () => {
  const port = await serve({ quietMs: 10, keepaliveTimeoutMs: 10 });
  const frame = fc.record({
    type: fc.nat(12),
    flags: fc.nat(255),
    streamId: fc.constantFrom(0, 1, 1, 3, 5, 2, 2 ** 31 - 1),
    payload: fc.oneof(
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
      fc.constant(callHeaders()),
      fc.constant(frameOf(Buffer.from('m'))),
    ),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(frame, { maxLength: 12 }), async (frames) => {
      const peer = await greeted(port);
      peer.send(
        completeCall(1),
        ...frames.map(({ type, flags, streamId, payload }) => rawFrame(type, flags, streamId, payload)),
      );
      peer.socket.end();
      await peer.closed();
    }),
    { numRuns: shortOrLong(50, 5000) },
  );
  server?.destroy();
  await expectServing(await serve());
  await until(() => server?.openConnections === 0);
  expect(server?.openCalls).toBe(0);
});

test('a connection that says nothing is closed after its time', async () => {
  const port = await serve({ handshakeMs: 50 });
  const peer = await RawPeer.connected(port);
  peers.push(peer);
  await peer.closed();
  expect(server?.openConnections).toBe(0);
});

test('a request that does not become complete is ended, and its handler told', async () => {
  const gone = new Gate();
  const port = await serve({ unfinishedMs: 100 }, (call) => {
    call.onGone(() => gone.open());
    call.readUnary(() => expect.unreachable());
  });
  const peer = await greeted(port);
  peer.send(
    rawFrame(HEADERS, END_HEADERS, 1, callHeaders()),
    rawFrame(DATA, 0, 1, frameOf(Buffer.alloc(100)).subarray(0, 50)),
  );
  await gone.opened;
  const answer = await peer.saw(({ type, streamId }) => type === HEADERS && streamId === 1);
  expect((answer?.flags ?? 0) & END_STREAM).toBe(END_STREAM);
  expect(await peer.saw(({ type }) => type === RST_STREAM)).toBeDefined();
  await until(() => server?.openCalls === 0);
});

test('requests that nobody reads, and that may wait for ever, leave room for those that come in parts', async () => {
  const port = await serve({ maxUnfinishedBytes: 100_000 }, (call) => {
    if (call.path !== '/test.Unread/Stream') echo(call);
  });
  const peer = await greeted(port);
  for (let streamId = 1; streamId < 40; streamId += 2) {
    peer.send(
      rawFrame(HEADERS, END_HEADERS, streamId, callHeaders({ ':path': '/test.Unread/Stream' })),
      rawFrame(DATA, 0, streamId, Buffer.alloc(10_000)),
    );
  }
  await peer.saw(({ type, streamId }) => type === RST_STREAM && streamId === 39);
  const client = byteClient(port);
  const outcome = await unary(client, '/test.Echo/Call', Buffer.alloc(30_000));
  client.close();
  expect(outcome.error).toBeNull();
  expect(outcome.answer).toHaveLength(30_000);
});

test('unfinished requests hold no more than they may, all together', async () => {
  const gone: number[] = [];
  const port = await serve({ maxUnfinishedBytes: 100_000 }, (call) => {
    call.onGone(() => gone.push(call.stream.id ?? 0));
    call.readUnary(() => expect.unreachable());
  });
  const peer = await greeted(port);
  const part = frameOf(Buffer.alloc(1_000_000)).subarray(0, 15_000);
  for (let id = 1; id < 40; id += 2) {
    peer.send(rawFrame(HEADERS, END_HEADERS, id, callHeaders()), rawFrame(DATA, 0, id, part));
  }
  await until(() => gone.length > 0 && gone.length + (server?.openCalls ?? 0) >= 20);
  // What is kept of each is at least what came of it, so no more than six can have stayed.
  await until(() => (server?.openCalls ?? 0) <= 6);
  expect(server?.openCalls).toBeGreaterThan(0);
});

// One connection could fill the whole pool for as long as a request may take, and no other got a message in parts through.
test('messages that one connection never completes leave room for those of others', async () => {
  const port = await serve({ maxUnfinishedBytes: 1_000_000 }, echo);
  const peer = await greeted(port);
  const part = frameOf(Buffer.alloc(1_000_000)).subarray(0, 15_000);
  for (let id = 1; id < 400; id += 2) {
    peer.send(rawFrame(HEADERS, END_HEADERS, id, callHeaders()), rawFrame(DATA, 0, id, part));
  }
  await peer.saw(({ type, streamId }) => type === HEADERS && streamId === 399);
  const client = byteClient(port);
  const outcomes = await Promise.all(
    Array.from({ length: 4 }, () => unary(client, '/test.Echo/Call', Buffer.alloc(50_000))),
  );
  client.close();
  for (const { error, answer } of outcomes) {
    expect(error).toBeNull();
    expect(answer).toHaveLength(50_000);
  }
});

test('headers without end close the connection', async () => {
  const port = await serve();
  const peer = await greeted(port);
  peer.send(rawFrame(HEADERS, 0, 1, callHeaders()));
  const more = rawFrame(CONTINUATION, 0, 1, headerBlock({ x: 'y'.repeat(1000) }));
  for (let i = 0; i < 200 && !peer.isClosed; i++) peer.send(more);
  await peer.closed();
  await expectServing(port);
});

test.each([
  ['too large', { 'x-large': 'x'.repeat(20_000) }, { status: 431, code: constants.NGHTTP2_NO_ERROR }],
  ['far too large', { 'x-large': 'x'.repeat(64_000) }, { code: expect.any(Number) }],
  [
    'too many',
    Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`x-${i}`, 'v'])),
    { code: constants.NGHTTP2_ENHANCE_YOUR_CALM },
  ],
])('headers that are %s are refused', async (_name, headers, outcome) => {
  const seen: string[] = [];
  const port = await serve({}, (call) => {
    seen.push(call.path);
    echo(call);
  });
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  session.on('error', () => {});
  const refused = await new Promise((resolve) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/a.B/Large',
      'content-type': 'application/grpc',
      ...headers,
    });
    let status: number | undefined;
    stream.on('response', (answer) => {
      status = Number(answer[':status']);
    });
    stream.on('error', () => {});
    stream.on('close', () => resolve({ status, code: stream.rstCode }));
    stream.resume();
    stream.end(frameOf(Buffer.from('m')));
  });
  session.destroy();
  expect(refused).toMatchObject(outcome);
  await expectServing(port);
  expect(seen).toEqual(['/a.B/C']);
});

test('a flood of calls that are reset at once ends that connection and leaves nothing behind', async () => {
  let seen = 0;
  const port = await serve({ quietMs: 50, keepaliveTimeoutMs: 50 }, (call) => {
    seen++;
    call.readUnary(() => {});
  });
  const peer = await greeted(port);
  for (let id = 1; id < 100_000 && !peer.isClosed; id += 2) {
    peer.send(
      rawFrame(HEADERS, END_HEADERS, id, callHeaders()),
      rawFrame(RST_STREAM, 0, id, uint32(constants.NGHTTP2_CANCEL)),
    );
    if (id % 1001 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await peer.saw(({ type }) => type === GOAWAY)).toBeDefined();
  await peer.closed();
  await until(() => server?.openCalls === 0);
  expect(seen).toBeLessThan(5_000);
});

test.each([
  ['SETTINGS', rawFrame(SETTINGS, 0, 0, setting(3, 100))],
  ['PING', rawFrame(PING, 0, 0, Buffer.alloc(8))],
  ['empty DATA', rawFrame(DATA, 0, 1)],
])('a flood of %s from a client that does not read leaves the server serving', async (_name, frame) => {
  const port = await serve();
  const peer = await greeted(port);
  peer.socket.pause();
  peer.send(rawFrame(HEADERS, END_HEADERS, 1, callHeaders()));
  const many = Buffer.concat(Array.from({ length: 1000 }, () => frame));
  const before = process.memoryUsage().rss;
  for (let i = 0; i < 300 && !peer.socket.destroyed; i++) {
    await new Promise((resolve) => peer.socket.write(many, resolve));
  }
  await expectServing(port);
  expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024);
});

test('answers whose window stays closed are dropped after their time', async () => {
  const port = await serve({ untakenMs: 100 });
  const peer = await greeted(port, setting(4, 0));
  peer.send(completeCall(1), completeCall(3));
  await peer.saw(({ type, streamId }) => type === RST_STREAM && streamId === 1);
  await peer.saw(({ type, streamId }) => type === RST_STREAM && streamId === 3);
  await until(() => server?.openCalls === 0);
  expect(peer.frames.some(({ type }) => type === DATA)).toBe(false);
});

test('answers that are not taken hold no more than they may: the oldest of the connection with most of them go', async () => {
  const answered: number[] = [];
  const gone: number[] = [];
  const port = await serve({ maxUntakenBytes: 1_000_000 }, (call) => {
    call.stream.on('close', () => gone.push(call.stream.id ?? 0));
    call.readUnary(() => {
      call.answer(frameOf(Buffer.alloc(100_000)));
      answered.push(call.stream.id ?? 0);
    });
  });
  const starver = await greeted(port, setting(4, 0));
  for (let id = 1; id <= 39; id += 2) starver.send(completeCall(id));
  await until(() => gone.length >= 11);
  expect(gone.slice(0, 11)).toEqual([1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21]);
  const client = byteClient(port);
  const outcomes = await Promise.all(
    Array.from({ length: 5 }, () => unary(client, '/a.B/C', Buffer.from('m'))),
  );
  client.close();
  for (const { error } of outcomes) expect(error).toBeNull();
});

test('a client that vanishes without a word is found by a ping', async () => {
  const gone = new Gate();
  const port = await serve({ keepaliveMs: 50, keepaliveTimeoutMs: 50 }, (call) =>
    call.onGone(() => gone.open()),
  );
  const peer = await greeted(port);
  peer.send(rawFrame(HEADERS, END_HEADERS, 1, callHeaders()));
  await gone.opened;
  expect(await peer.saw(({ type }) => type === PING)).toBeDefined();
  await peer.closed();
});

test('a client that answers pings stays', async () => {
  const port = await serve({ keepaliveMs: 20, keepaliveTimeoutMs: 10_000 });
  const peer = await greeted(port);
  for (let pings = 1; pings <= 4; pings++) {
    let seen = 0;
    const ping = await peer.saw(({ type, flags }) => type === PING && flags === 0 && ++seen === pings);
    peer.send(rawFrame(PING, ACK, 0, ping?.payload ?? Buffer.alloc(8)));
  }
  peer.send(completeCall(1));
  expect(await peer.saw(({ type }) => type === DATA)).toBeDefined();
});

test('no more connections and no more calls on one than are allowed', async () => {
  const port = await serve({ maxConnections: 2, maxConcurrentStreams: 2 }, (call) =>
    call.readUnary(() => {}),
  );
  const [first] = await Promise.all([greeted(port), greeted(port)]);
  const third = await RawPeer.connected(port);
  await third.closed();
  first?.send(completeCall(1), completeCall(3), completeCall(5));
  const refused = await first?.saw(({ type }) => type === RST_STREAM || type === GOAWAY);
  expect(refused).toBeDefined();
  expect(server?.openCalls).toBeLessThanOrEqual(2);
});

test.each([
  ['no content-type', { 'content-type': undefined }, 415, STATUS.INTERNAL],
  ['another content-type', { 'content-type': 'application/json' }, 415, STATUS.INTERNAL],
  ['gRPC-Web', { 'content-type': 'application/grpc-web' }, 415, STATUS.INTERNAL],
  ['GET', { ':method': 'GET' }, 405, STATUS.INTERNAL],
  ['HEAD', { ':method': 'HEAD' }, 405, STATUS.INTERNAL],
  ['a path without method', { ':path': '/a.B' }, 200, STATUS.UNIMPLEMENTED],
  ['a path that is none', { ':path': '/' }, 200, STATUS.UNIMPLEMENTED],
  ['a malformed timeout', { 'grpc-timeout': '1 second' }, 200, STATUS.INTERNAL],
])('%s is refused', async (_name, headers, httpStatus, status) => {
  const port = await serve({}, () => expect.unreachable());
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  session.on('error', () => {});
  const answer = await new Promise((resolve) => {
    const stream = session.request(
      {
        ':method': 'POST',
        ':path': '/a.B/C',
        'content-type': 'application/grpc',
        ...headers,
      },
      { endStream: false },
    );
    stream.on('error', () => {});
    stream.on('response', resolve);
  });
  session.destroy();
  expect(answer).toMatchObject({
    ':status': httpStatus,
    'grpc-status': String(status),
    'grpc-message': expect.stringContaining('expected'),
  });
  expect(server?.openCalls).toBe(0);
});

test.each([
  'application/grpc',
  'application/grpc+proto',
  'application/grpc+json',
  'application/grpc;charset=utf-8',
])('%s is gRPC, and answered as such', async (contentType) => {
  const port = await serve();
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  const answer = await new Promise((resolve) => {
    const stream = session.request({ ':method': 'POST', ':path': '/a.B/C', 'content-type': contentType });
    stream.on('response', resolve);
    stream.end(frameOf(Buffer.from('m')));
  });
  session.destroy();
  expect(answer).toMatchObject({ ':status': 200, 'content-type': contentType });
});

test.each([
  ['none', [], 'got none'],
  ['two', [frameOf(Buffer.from('a')), frameOf(Buffer.from('b'))], 'got a second one'],
  ['a part', [frameOf(Buffer.from('abc')).subarray(0, 6)], 'ended within a message'],
  ['a wrong flag', [Buffer.from([7, 0, 0, 0, 0])], 'flag byte'],
])('%s instead of one message fails the call, and its handler is told', async (_name, frames, message) => {
  const gone = new Gate();
  const port = await serve({}, (call) => {
    call.onGone(() => gone.open());
    call.readUnary(() => expect.unreachable());
  });
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  const answer = new Promise((resolve) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/a.B/C',
      'content-type': 'application/grpc',
    });
    stream.on('response', resolve);
    stream.end(Buffer.concat(frames));
  });
  expect(await answer).toMatchObject({ 'grpc-message': expect.stringContaining(message) });
  await gone.opened;
  session.destroy();
});

// GOAWAY was sent twice, the first with the highest number: nghttp2 takes no stream after the first, so calls in between
// were lost without a word, and a client that never answered the ping behind it held up the close.
test('a graceful close names the last call, lets it end, and waits for nobody else', async () => {
  const arrived = new Gate<IncomingCall>();
  const port = await serve({}, (call) => call.readUnary(() => arrived.open(call)));
  const peer = await greeted(port);
  peer.send(completeCall(1));
  const call = await arrived.opened;
  const closed = server?.close();
  const goaway = await peer.saw(({ type }) => type === GOAWAY);
  expect(goaway?.payload.readUInt32BE(0)).toBe(1);
  call.answer(frameOf(Buffer.from('last')));
  expect(await peer.saw(({ type }) => type === DATA)).toBeDefined();
  await closed;
});

const reset = (streamId: number, code = 0) => rawFrame(RST_STREAM, 0, streamId, uint32(code));

// Node keeps a stream that was reset without an error until its request is read: for ever, when nobody does.
test('a call that is reset without an error is over, read or not', async () => {
  const gone: string[] = [];
  const port = await serve({}, (call) => {
    call.onGone(() => gone.push(call.path));
    if (call.path === '/a.B/Read') call.readUnary(() => {});
    // As a pipe does whose other end takes no more.
    if (call.path === '/a.B/Paused') call.stream.on('data', () => call.stream.pause());
  });
  const peer = await greeted(port);
  const part = frameOf(Buffer.alloc(1000)).subarray(0, 500);
  ['/a.B/Unread', '/a.B/Read', '/a.B/Paused'].forEach((path, i) => {
    const id = 2 * i + 1;
    peer.send(
      rawFrame(HEADERS, END_HEADERS, id, callHeaders({ ':path': path })),
      rawFrame(DATA, 0, id, part),
      rawFrame(DATA, 0, id, part),
    );
  });
  await until(() => server?.openCalls === 3);
  for (const id of [1, 3, 5]) peer.send(reset(id));
  await until(() => server?.openCalls === 0);
  expect(gone.sort()).toEqual(['/a.B/Paused', '/a.B/Read', '/a.B/Unread']);
});

// A joined list of base64 is none, and there are servers that drop the connection, with all calls on it, for that.
test.each(['!!!', 'A', 'YR', 'YQ, !', 'YQ=', 'Y-_Y'])(
  'binary metadata that is no base64 (%s) is refused',
  async (value) => {
    const port = await serve({}, () => expect.unreachable());
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    const answer = await new Promise((resolve) => {
      const stream = session.request({
        ':method': 'POST',
        ':path': '/a.B/C',
        'content-type': 'application/grpc',
        'x-key-bin': value,
      });
      stream.on('response', resolve);
      stream.end(frameOf(Buffer.from('m')));
    });
    session.destroy();
    expect(answer).toMatchObject({
      ':status': 200,
      'grpc-status': String(STATUS.INTERNAL),
      'grpc-message': "expected base64 in 'x-key-bin', as in all metadata that ends in -bin",
    });
  },
);

test('a connection that fails is closed, and the log names its client', async () => {
  const log: string[] = [];
  server = new GrpcServer({ onCall: echo, log: (line) => log.push(line) });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const peer = await greeted(port);
  const { localPort } = peer.socket;
  peer.send(rawFrame(GOAWAY, 0, 0, Buffer.concat([uint32(0), uint32(constants.NGHTTP2_INTERNAL_ERROR)])));
  await peer.closed();
  await until(() => server?.openConnections === 0);
  expect(log).toEqual([expect.stringContaining(`the connection of 127.0.0.1:${localPort} failed: `)]);
  await expectServing(port);
});

// A session that is destroyed waits until its last bytes are written, which they never are to a client that reads none.
test('a client that takes nothing any more is let go, with what it was to be sent', async () => {
  const port = await serve({ quietMs: 50, keepaliveTimeoutMs: 50 }, (call) =>
    call.readUnary(() => call.answer(frameOf(Buffer.alloc(20_000_000)))),
  );
  const peer = await greeted(port, setting(4, 2 ** 31 - 1));
  peer.socket.pause();
  peer.send(rawFrame(WINDOW_UPDATE, 0, 0, uint32(2 ** 30)), completeCall(1));
  await until(() => server?.openCalls === 1);
  await until(() => server?.openConnections === 0);
});

/** A client that keeps its end open, whatever comes. */
async function stubborn(port: number): Promise<RawPeer> {
  const socket = connectTcp({ port, host: '127.0.0.1', allowHalfOpen: true });
  await new Promise((resolve) => socket.once('connect', resolve));
  const peer = new RawPeer(socket);
  peers.push(peer);
  peer.send(PREFACE, rawFrame(SETTINGS, 0, 0), rawFrame(SETTINGS, ACK, 0));
  await peer.saw(({ type }) => type === SETTINGS);
  return peer;
}

test('a connection that breaks the protocol is closed, also where its client neither reads nor closes', async () => {
  const port = await serve({ keepaliveTimeoutMs: 50 });
  const peer = await stubborn(port);
  peer.socket.pause();
  peer.send(rawFrame(DATA, 0, 1, Buffer.alloc(10)));
  await until(() => server?.openConnections === 0);
  await expectServing(port);
});

test('a graceful close waits for a client that does not close for a while only', async () => {
  const port = await serve({ keepaliveTimeoutMs: 50 });
  const peer = await stubborn(port);
  peer.send(completeCall(1));
  await peer.saw(({ type }) => type === DATA);
  await server?.close();
  expect(await peer.saw(({ type }) => type === GOAWAY)).toBeDefined();
});

// A reset would be allowed, but Node's client never closes a stream that is reset without an error while it sends.
test('an error before the end of a request lets the request end', async () => {
  const port = await serve({}, (call) => call.fail(new GrpcError(STATUS.UNAUTHENTICATED, 'who?')));
  const peer = await greeted(port);
  peer.send(rawFrame(HEADERS, END_HEADERS, 1, callHeaders()));
  await peer.saw(({ type }) => type === HEADERS);
  expect(server?.openCalls).toBe(0);
  const piece = rawFrame(DATA, 0, 1, Buffer.alloc(16_000));
  for (let i = 0; i < 60; i++) peer.send(piece);
  await peer.saw(({ type, streamId }) => type === WINDOW_UPDATE && streamId === 1);
  peer.send(rawFrame(DATA, END_STREAM, 1), completeCall(3));
  await peer.saw(({ type, streamId }) => type === HEADERS && streamId === 3);
  expect(peer.frames.some(({ type }) => type === RST_STREAM || type === GOAWAY)).toBe(false);
});

test('a message or trailers before the headers of an answer are a fault of the handler, and cost it that call', async () => {
  const faults: string[] = [];
  const port = await serve({}, (call) => {
    if (call.path !== '/a.B/Early') echo(call);
    else {
      call.stream.on('error', (error) => faults.push(error.message));
      expect(() => call.stream.sendTrailers({ 'grpc-status': '0' })).toThrow('respond()');
      call.stream.write(frameOf(Buffer.from('m')));
    }
  });
  const peer = await greeted(port);
  peer.send(rawFrame(HEADERS, END_HEADERS, 1, callHeaders({ ':path': '/a.B/Early' })));
  await peer.saw(({ type, streamId }) => type === RST_STREAM && streamId === 1);
  expect(faults).toEqual([expect.stringContaining('respond()')]);
  await expectServing(port);
});

test('calls that have heard nothing can be told why they end', async () => {
  const gone: string[] = [];
  const port = await serve({}, (call) => {
    call.onGone(() => gone.push(call.path));
    call.readUnary(() => {});
  });
  const client = byteClient(port);
  const outcome = unary(client, '/a.B/Waiting', Buffer.from('m'));
  await until(() => server?.openCalls === 1);
  server?.failOpenCalls(new GrpcError(STATUS.UNAVAILABLE, 'enough'));
  expect((await outcome).error).toMatchObject({ code: STATUS.UNAVAILABLE, details: 'enough' });
  client.close();
  expect(gone).toEqual(['/a.B/Waiting']);
});
