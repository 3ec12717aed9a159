import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ERROR_CODE } from '../../src/http2/error-code.js';
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
  type RawFrame,
  RST_STREAM,
  rawFrame,
  SETTINGS,
  setting,
  uint32,
  WINDOW_UPDATE,
} from '../support/raw-http2.js';
import { ServedSession, turn } from '../support/served-session.js';

const PRIORITY = 0x2;
const PUSH_PROMISE = 0x5;
const HEADER_TABLE_SIZE = 1;
const INITIAL_WINDOW_SIZE = 4;
const PADDED = 0x8;

const opening = (id: number, flags = 0) => rawFrame(HEADERS, END_HEADERS | flags, id, callHeaders());
const data = (id: number, bytes: number, flags = 0) => rawFrame(DATA, flags, id, Buffer.alloc(bytes));
const reset = (id: number, code: number = ERROR_CODE.CANCEL) => rawFrame(RST_STREAM, 0, id, uint32(code));
const wider = (id: number, bytes: number) => rawFrame(WINDOW_UPDATE, 0, id, uint32(bytes));
const wholeCall = (id: number) => Buffer.concat([opening(id), data(id, 10, END_STREAM)]);
const request = (headers: Record<string, string>) =>
  headerBlock({ ':method': 'POST', ':scheme': 'http', ':path': '/a.B/C', ...headers });

function goawayOf(served: ServedSession) {
  const payload = served.framesOf(GOAWAY).at(-1)?.payload;
  return payload === undefined
    ? undefined
    : { lastId: payload.readUInt32BE(0), code: payload.readUInt32BE(4) };
}

function resetsOf(served: ServedSession): [id: number, code: number][] {
  return served.framesOf(RST_STREAM).map(({ streamId, payload }) => [streamId, payload.readUInt32BE(0)]);
}

test('it greets, acknowledges and hands out a request with all that came of it', async () => {
  const served = await ServedSession.greeted();
  await served.gets(opening(1), data(1, 5), data(1, 7, END_STREAM));
  expect(served.told).toEqual(['greeted']);
  expect(served.framesOf(SETTINGS).map(({ flags }) => flags)).toEqual([0, ACK]);
  const [one] = served.streams;
  expect(one?.request.headers).toMatchObject({ ':path': '/a.B/C', te: 'trailers' });
  expect(one?.events).toEqual(['received', 'received', 'ended']);
});

test('however the bytes of a client are cut, the same requests come of them', async () => {
  const bytes = Buffer.concat([
    PREFACE,
    rawFrame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 100)),
    opening(1),
    data(1, 20),
    rawFrame(HEADERS, 0, 3, callHeaders().subarray(0, 30)),
    rawFrame(CONTINUATION, END_HEADERS, 3, callHeaders().subarray(30)),
    rawFrame(DATA, END_STREAM | PADDED, 3, Buffer.concat([Buffer.of(4), Buffer.alloc(6), Buffer.alloc(4)])),
    rawFrame(0xbb, 0xff, 77, Buffer.from('of an extension')),
    rawFrame(HEADERS, END_HEADERS | END_STREAM, 1, headerBlock({ 'x-trailer': 'a' })),
    opening(5, END_STREAM),
  ]);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 60 }), async (cuts) => {
      const served = new ServedSession();
      const places = [...cuts, bytes.length].sort((a, b) => a - b);
      let from = 0;
      for (const to of places) {
        if (to > from) await served.gets(bytes.subarray(from, to));
        from = to;
      }
      const stories = served.streams.map(({ stream, chunks, events }) => ({
        id: stream.id,
        bytes: Buffer.concat(chunks).length,
        hasEnded: events.includes('ended'),
      }));
      expect(stories).toEqual([
        { id: 1, bytes: 20, hasEnded: true },
        { id: 3, bytes: 6, hasEnded: true },
        { id: 5, bytes: 0, hasEnded: true },
      ]);
      expect(served.told).toEqual(['greeted']);
    }),
    { numRuns: 60 },
  );
});

test.each<[string, Buffer, number]>([
  ['a push', rawFrame(PUSH_PROMISE, END_HEADERS, 1, Buffer.alloc(10)), ERROR_CODE.PROTOCOL_ERROR],
  ['an even number', opening(2), ERROR_CODE.PROTOCOL_ERROR],
  ['data before its stream', data(1, 5), ERROR_CODE.PROTOCOL_ERROR],
  ['a reset before its stream', reset(1), ERROR_CODE.PROTOCOL_ERROR],
  ['a window before its stream', wider(1, 5), ERROR_CODE.PROTOCOL_ERROR],
  ['data without a stream', data(0, 5), ERROR_CODE.PROTOCOL_ERROR],
  ['a number below those that were used', Buffer.concat([opening(5), opening(3)]), ERROR_CODE.STREAM_CLOSED],
  [
    'headers that are no HPACK',
    rawFrame(HEADERS, END_HEADERS, 1, Buffer.of(0xff)),
    ERROR_CODE.COMPRESSION_ERROR,
  ],
  [
    'a frame in the midst of headers',
    Buffer.concat([rawFrame(HEADERS, 0, 1, callHeaders()), rawFrame(PING, 0, 0, Buffer.alloc(8))]),
    ERROR_CODE.PROTOCOL_ERROR,
  ],
  [
    'a continuation without headers',
    rawFrame(CONTINUATION, END_HEADERS, 1, callHeaders()),
    ERROR_CODE.PROTOCOL_ERROR,
  ],
  ['a frame beyond our size', data(1, 16_385), ERROR_CODE.FRAME_SIZE_ERROR],
  ['a ping of the wrong size', rawFrame(PING, 0, 0, Buffer.alloc(7)), ERROR_CODE.FRAME_SIZE_ERROR],
  ['a priority of the wrong size', rawFrame(PRIORITY, 0, 1, Buffer.alloc(4)), ERROR_CODE.FRAME_SIZE_ERROR],
  ['settings of the wrong size', rawFrame(SETTINGS, 0, 0, Buffer.alloc(5)), ERROR_CODE.FRAME_SIZE_ERROR],
  [
    'a window setting beyond HTTP/2',
    rawFrame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 2 ** 31)),
    ERROR_CODE.FLOW_CONTROL_ERROR,
  ],
  ['a push setting that is none', rawFrame(SETTINGS, 0, 0, setting(2, 2)), ERROR_CODE.PROTOCOL_ERROR],
  ['a window of the connection by nothing', wider(0, 0), ERROR_CODE.PROTOCOL_ERROR],
  ['a window of the connection beyond HTTP/2', wider(0, 2 ** 31 - 1), ERROR_CODE.FLOW_CONTROL_ERROR],
  ['padding beyond the frame', rawFrame(DATA, PADDED, 1, Buffer.of(9, 0)), ERROR_CODE.PROTOCOL_ERROR],
  ['data behind its own end', Buffer.concat([wholeCall(1), reset(1), data(1, 1)]), ERROR_CODE.STREAM_CLOSED],
  ['data behind its own reset', Buffer.concat([opening(1), reset(1), data(1, 1)]), ERROR_CODE.STREAM_CLOSED],
])('%s ends the connection, and is told why', async (_what, bytes, code) => {
  const served = await ServedSession.greeted();
  await served.gets(bytes);
  expect(goawayOf(served)?.code).toBe(code);
  expect(served.told).toContain('broke off');
  expect(served.socket.writableEnded).toBe(true);
  for (const { events } of served.streams)
    expect(events.filter((event) => event === 'closed')).toHaveLength(1);
});

test.each<[string, Buffer, number]>([
  ['no method', headerBlock({ ':scheme': 'http', ':path': '/' }), ERROR_CODE.PROTOCOL_ERROR],
  ['no path', headerBlock({ ':scheme': 'http', ':method': 'POST' }), ERROR_CODE.PROTOCOL_ERROR],
  ['an empty path', request({ ':path': '' }), ERROR_CODE.PROTOCOL_ERROR],
  ['no scheme', headerBlock({ ':path': '/', ':method': 'POST' }), ERROR_CODE.PROTOCOL_ERROR],
  [
    'a method twice',
    Buffer.concat([request({}), headerBlock({ ':method': 'POST' })]),
    ERROR_CODE.PROTOCOL_ERROR,
  ],
  ['a status', request({ ':status': '200' }), ERROR_CODE.PROTOCOL_ERROR],
  ['a pseudo-header of its own', request({ ':mine': 'x' }), ERROR_CODE.PROTOCOL_ERROR],
  [
    'a pseudo-header behind others',
    Buffer.concat([headerBlock({ te: 'trailers' }), request({})]),
    ERROR_CODE.PROTOCOL_ERROR,
  ],
  ['a name in upper case', request({ 'X-A': 'b' }), ERROR_CODE.PROTOCOL_ERROR],
  ['a name with a space', request({ 'x a': 'b' }), ERROR_CODE.PROTOCOL_ERROR],
  ['no name', request({ '': 'b' }), ERROR_CODE.PROTOCOL_ERROR],
  ['a line break in a value', request({ 'x-a': 'b\r\nc: d' }), ERROR_CODE.PROTOCOL_ERROR],
  ['a NUL in a value', request({ 'x-a': 'b\0' }), ERROR_CODE.PROTOCOL_ERROR],
  ['connection', request({ connection: 'close' }), ERROR_CODE.PROTOCOL_ERROR],
  ['transfer-encoding', request({ 'transfer-encoding': 'chunked' }), ERROR_CODE.PROTOCOL_ERROR],
  ['te other than trailers', request({ te: 'gzip' }), ERROR_CODE.PROTOCOL_ERROR],
  ['a content-length that is none', request({ 'content-length': '-1' }), ERROR_CODE.PROTOCOL_ERROR],
  [
    'two of them',
    Buffer.concat([request({ 'content-length': '5' }), headerBlock({ 'content-length': '6' })]),
    ERROR_CODE.PROTOCOL_ERROR,
  ],
  [
    'too many headers',
    Buffer.concat([request({}), ...Array.from({ length: 130 }, () => headerBlock({ x: 'y' }))]),
    ERROR_CODE.ENHANCE_YOUR_CALM,
  ],
])('a request with %s is reset, and disturbs nobody', async (_what, block, code) => {
  const served = await ServedSession.greeted();
  await served.gets(
    opening(1),
    rawFrame(HEADERS, END_HEADERS, 3, block),
    data(3, 5, END_STREAM),
    wholeCall(5),
  );
  expect(resetsOf(served)).toEqual([[3, code]]);
  expect(served.streams.map(({ stream }) => stream.id)).toEqual([1, 5]);
  expect(goawayOf(served)).toBeUndefined();
});

const lengthy = (length: number) =>
  rawFrame(HEADERS, END_HEADERS, 1, request({ 'content-length': String(length) }));

test.each<[string, Buffer[], number]>([
  ['more than its content-length', [lengthy(5), data(1, 6)], ERROR_CODE.PROTOCOL_ERROR],
  ['less than its content-length', [lengthy(5), data(1, 4, END_STREAM)], ERROR_CODE.PROTOCOL_ERROR],
  [
    'nothing of its content-length',
    [rawFrame(HEADERS, END_HEADERS | END_STREAM, 1, request({ 'content-length': '5' }))],
    ERROR_CODE.PROTOCOL_ERROR,
  ],
  ['more than its window', [opening(1), data(1, 1001)], ERROR_CODE.FLOW_CONTROL_ERROR],
  ['headers again', [opening(1), opening(1)], ERROR_CODE.PROTOCOL_ERROR],
  ['pseudo-headers at its end', [opening(1), opening(1, END_STREAM)], ERROR_CODE.PROTOCOL_ERROR],
  ['data behind its end', [wholeCall(1), data(1, 1)], ERROR_CODE.STREAM_CLOSED],
  ['headers behind its end', [wholeCall(1), opening(1, END_STREAM)], ERROR_CODE.STREAM_CLOSED],
  ['a window by nothing', [opening(1), wider(1, 0)], ERROR_CODE.PROTOCOL_ERROR],
  ['a window beyond HTTP/2', [opening(1), wider(1, 2 ** 31 - 1)], ERROR_CODE.FLOW_CONTROL_ERROR],
])('a stream that sends %s is reset, and is over', async (_what, frames, code) => {
  const served = await ServedSession.greeted();
  await served.gets(...frames, wholeCall(3));
  expect(resetsOf(served)).toEqual([[1, code]]);
  expect(served.streams[0]?.events.at(-1)).toBe('closed');
  expect(served.streams[1]?.events.at(-1)).toBe('ended');
  expect(goawayOf(served)).toBeUndefined();
});

test('a content-length that is kept to is none of anybody’s business', async () => {
  const served = await ServedSession.greeted();
  await served.gets(lengthy(5), data(1, 2), data(1, 3, END_STREAM));
  expect(served.streams[0]?.events).toEqual(['received', 'received', 'ended']);
});

test('what does not begin as HTTP/2 is not read on', async () => {
  for (const bytes of [Buffer.from('GET / HTTP/1.1\r\n'), Buffer.concat([PREFACE, data(1, 1)])]) {
    const served = new ServedSession();
    await served.gets(bytes);
    expect(goawayOf(served)?.code).toBe(ERROR_CODE.PROTOCOL_ERROR);
    expect(served.told).toEqual([expect.stringContaining('failed'), 'broke off']);
  }
});

test('streams beyond those that may be open are refused, and room is made by those that end', async () => {
  const served = await ServedSession.greeted(undefined, { maxStreams: 2 });
  await served.gets(wholeCall(1), wholeCall(3), wholeCall(5));
  expect(resetsOf(served)).toEqual([[5, ERROR_CODE.REFUSED_STREAM]]);
  served.streams[0]?.stream.answer(Buffer.from('a'), undefined, undefined);
  await served.gets(wholeCall(7));
  expect(served.streams.map(({ stream }) => stream.id)).toEqual([1, 3, 7]);
});

// A socket with more to read was read on in the same turn of the event loop: 2 MiB of calls blocked it for 230 ms.
test('after many calls at once a client is read on in the next turn of the event loop', async () => {
  const served = await ServedSession.greeted(undefined, { maxStreams: 1000 });
  const callsFrom = (first: number) =>
    Buffer.concat(Array.from({ length: 100 }, (_, i) => wholeCall(first + 2 * i)));
  const begun = [1, 201, 401, 601].map((first) => {
    served.socket.push(callsFrom(first));
    return served.streams.length;
  });
  expect(begun).toEqual([100, 200, 200, 200]);
  for (let turns = 0; turns < 4; turns++) await turn();
  expect(served.streams).toHaveLength(400);
});

test('a request that its client leaves unfinished when it is answered makes room for another', async () => {
  const served = await ServedSession.greeted(undefined, { maxStreams: 2 });
  await served.gets(opening(1), opening(3));
  served.streams[1]?.stream.respond([':status', '200', 'grpc-status', '8'], true);
  await served.gets(opening(5));
  expect(served.streams.map(({ stream }) => stream.id)).toEqual([1, 3, 5]);
  expect(resetsOf(served)).toEqual([[3, ERROR_CODE.NO_ERROR]]);
  await served.gets(data(3, 1, END_STREAM), opening(7));
  expect(resetsOf(served)).toEqual([
    [3, ERROR_CODE.NO_ERROR],
    [7, ERROR_CODE.REFUSED_STREAM],
  ]);
  expect(goawayOf(served)).toBeUndefined();
});

test('an answer is headers, message and trailers in one write', async () => {
  const served = await ServedSession.greeted();
  await served.gets(wholeCall(1));
  const before = served.socket.writes.length;
  served.streams[0]?.stream.answer(Buffer.from('answer'), undefined, undefined);
  await turn();
  expect(served.socket.writes.length - before).toBe(1);
  const frames = served.frames.slice(-3);
  expect(frames.map(({ type, flags, streamId }) => [type, flags, streamId])).toEqual([
    [HEADERS, END_HEADERS, 1],
    [DATA, 0, 1],
    [HEADERS, END_HEADERS | END_STREAM, 1],
  ]);
  expect(frames[1]?.payload.toString()).toBe('answer');
  expect(served.headers.map(({ fields }) => fields)).toEqual([
    { ':status': '200', 'content-type': 'application/grpc' },
    { 'grpc-status': '0' },
  ]);
  expect(served.streams[0]?.events).toEqual(['received', 'ended', 'closed']);
});

// Answers whose bytes are always the same know nothing of the table; a client that had it shrunk would have refused them.
test('after a change of the table the next headers begin with it', async () => {
  const served = await ServedSession.greeted(setting(HEADER_TABLE_SIZE, 0));
  await served.gets(wholeCall(1), wholeCall(3));
  for (const { stream } of served.streams) stream.answer(Buffer.from('a'), undefined, undefined);
  await turn();
  const [first, , second] = served.framesOf(HEADERS);
  expect(first?.payload[0]).toBe(0x20);
  expect(second?.payload[0]).toBe(0x88);
  expect(served.headers).toHaveLength(4);
});

test('an answer is sent as far as the windows go, in the turns of all', async () => {
  const served = await ServedSession.greeted(setting(INITIAL_WINDOW_SIZE, 100));
  await served.gets(wholeCall(1), wholeCall(3));
  for (const { stream } of served.streams) {
    expect(stream.answer(Buffer.alloc(250), undefined, undefined)).toBe(false);
  }
  await turn();
  const bytesOf = (id: number) =>
    served.framesOf(DATA, id).reduce((sum, { payload }) => sum + payload.length, 0);
  expect([bytesOf(1), bytesOf(3)]).toEqual([100, 100]);
  await served.gets(wider(3, 500));
  expect([bytesOf(1), bytesOf(3)]).toEqual([100, 250]);
  expect(served.streams[1]?.events.at(-1)).toBe('closed');
  await served.gets(rawFrame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 250)));
  expect(bytesOf(1)).toBe(250);
  expect(served.streams[0]?.events.at(-1)).toBe('closed');
  expect(served.headers.filter(({ fields }) => fields['grpc-status'] === '0')).toHaveLength(2);
});

test('who reads slowly holds up its own stream only, and holds no more than its window', async () => {
  const served = await ServedSession.greeted();
  served.onOpened = ({ stream }) => {
    if (stream.id !== 1) stream.resume();
  };
  await served.gets(opening(1), data(1, 900), opening(3), data(3, 900), data(3, 900, END_STREAM));
  const [slow, quick] = served.streams;
  expect([slow?.events, served.heldBytes]).toEqual([[], 900]);
  expect(quick?.events).toEqual(['received', 'received', 'ended']);
  expect(served.framesOf(WINDOW_UPDATE, 1)).toEqual([]);
  slow?.stream.resume();
  await turn();
  expect([slow?.events, served.heldBytes]).toEqual([['received'], 0]);
  expect(served.framesOf(WINDOW_UPDATE, 1)).toHaveLength(1);
});

test('when all that wait for a reader hold too much, who comes next is reset', async () => {
  const served = await ServedSession.greeted();
  served.onOpened = () => {};
  served.mostHeldBytes = 1500;
  await served.gets(opening(1), data(1, 900), opening(3), data(3, 900), opening(5), data(5, 500));
  expect(resetsOf(served)).toEqual([[3, ERROR_CODE.ENHANCE_YOUR_CALM]]);
  expect(served.heldBytes).toBe(1400);
  await served.gets(reset(1), reset(5));
  expect(served.heldBytes).toBe(0);
});

test('frames for a stream that was reset here are passed over, but read', async () => {
  const served = await ServedSession.greeted();
  await served.gets(opening(1));
  served.streams[0]?.stream.reset();
  // The name is in the table from now on, which the next block relies on.
  const indexed = headerBlock({ 'x-late': 'value' });
  indexed[0] = 0x40;
  await served.gets(
    data(1, 900),
    data(1, 900),
    wider(1, 5),
    rawFrame(HEADERS, END_HEADERS | END_STREAM, 1, indexed),
  );
  const named = rawFrame(HEADERS, END_HEADERS, 3, Buffer.concat([callHeaders(), Buffer.of(0xbe)]));
  await served.gets(named);
  expect(served.streams[1]?.request.headers['x-late']).toBe('value');
  expect(goawayOf(served)).toBeUndefined();
  // By then it had ended it, so that more is its fault.
  await served.gets(data(1, 1));
  expect(goawayOf(served)?.code).toBe(ERROR_CODE.STREAM_CLOSED);
});

test('a client may take back a thousand calls at once, and then some a second', async () => {
  const served = await ServedSession.greeted(undefined, { maxStreams: 10 });
  let id = 1;
  const takeBack = (count: number) => {
    const frames: Buffer[] = [];
    for (let i = 0; i < count; i++, id += 2) frames.push(opening(id), reset(id));
    return served.gets(...frames);
  };
  await takeBack(1000);
  expect(goawayOf(served)).toBeUndefined();
  served.now += 1000;
  await takeBack(33);
  expect(goawayOf(served)).toBeUndefined();
  await takeBack(1);
  expect(goawayOf(served)?.code).toBe(ERROR_CODE.NO_ERROR);
  expect(served.streams.every(({ events }) => events.at(-1) === 'closed')).toBe(true);
});

/**
 * A backend that hangs makes any client take back all that it calls there with a deadline, hundreds a second. Its connection
 * was cut off, and with it the calls of those who had nothing to do with it.
 */
test('a client that takes back too many calls begins no more on its connection; the others end as they would', async () => {
  const served = await ServedSession.greeted();
  await served.gets(opening(1));
  for (let id = 3; id <= 2 * 1001 + 1; id += 2) await served.gets(opening(id), reset(id));
  expect(goawayOf(served)).toEqual({ code: ERROR_CODE.NO_ERROR, lastId: 2 * 1001 + 1 });
  await served.gets(opening(2005), reset(2005));
  expect(resetsOf(served)).toEqual([[2005, ERROR_CODE.REFUSED_STREAM]]);
  expect(served.streams[0]?.events).not.toContain('closed');
  served.streams[0]?.stream.answer(Buffer.from('a'), undefined, undefined);
  await served.gets(data(1, 1, END_STREAM));
  expect(served.framesOf(DATA).map(({ streamId }) => streamId)).toEqual([1]);
  expect(served.told).toEqual(['greeted', 'left']);
});

test('nor does the connection of one stay that goes on beginning them', async () => {
  const served = await ServedSession.greeted();
  await served.gets(opening(1));
  for (let id = 3; id <= 2 * 13_000; id += 2) await served.gets(opening(id), reset(id));
  expect(goawayOf(served)?.code).toBe(ERROR_CODE.ENHANCE_YOUR_CALM);
  expect(served.streams[0]?.events).toContain('closed');
});

test.each<[string, boolean]>([
  ['that were answered make up for others that are taken back', true],
  ['that were answered in pieces do so, too', true],
  ['that were refused do not', false],
])('calls %s', async (what, isOfUse) => {
  const served = await ServedSession.greeted();
  served.onOpened = ({ stream, request: { contentBytes } }) => {
    stream.resume();
    if (contentBytes !== 0) return;
    if (what.includes('pieces')) {
      stream.respond([':status', '200'], false);
      stream.end(Buffer.from('a'), ['grpc-status', '0']);
    } else if (isOfUse) stream.answer(Buffer.from('a'), undefined, undefined);
    else stream.respond([':status', '415'], true);
  };
  const cheap = (id: number) =>
    rawFrame(HEADERS, END_HEADERS | END_STREAM, id, request({ 'content-length': '0' }));
  for (let id = 1; id < 4 * 1200; id += 4) await served.gets(opening(id), reset(id), cheap(id + 2));
  expect(goawayOf(served)?.code).toBe(isOfUse ? undefined : ERROR_CODE.NO_ERROR);
});

test('calls that a client breaks count as taken back', async () => {
  const served = await ServedSession.greeted();
  for (let id = 1; id < 2 * 1002; id += 2) await served.gets(opening(id), wider(id, 0));
  expect(goawayOf(served)?.code).toBe(ERROR_CODE.ENHANCE_YOUR_CALM);
});

test.each<[string, Buffer]>([
  ['pings', rawFrame(PING, 0, 0, Buffer.alloc(8))],
  ['answers to pings', rawFrame(PING, ACK, 0, Buffer.alloc(8))],
  ['priorities', rawFrame(PRIORITY, 0, 1, Buffer.alloc(5))],
  ['empty frames', data(1, 0)],
  ['padding', rawFrame(DATA, PADDED, 1, Buffer.of(0))],
  ['frames of an extension', rawFrame(0xbb, 0, 0)],
])('%s without end are too many at some point, though they are read', async (_what, frame) => {
  const served = await ServedSession.greeted();
  await served.gets(opening(1), ...Array(9000).fill(frame));
  expect(goawayOf(served)).toBeUndefined();
  await served.gets(...Array(2000).fill(frame));
  expect(goawayOf(served)?.code).toBe(ERROR_CODE.ENHANCE_YOUR_CALM);
});

test('settings that change without end are too many at some point', async () => {
  const served = await ServedSession.greeted();
  await served.gets(...Array(900).fill(rawFrame(SETTINGS, 0, 0)));
  expect(goawayOf(served)).toBeUndefined();
  await served.gets(...Array(200).fill(rawFrame(SETTINGS, 0, 0)));
  expect(goawayOf(served)?.code).toBe(ERROR_CODE.ENHANCE_YOUR_CALM);
});

// Some clients measure the connection by a ping for each answer, thousands a second.
test('a client that pings as often as it calls stays', async () => {
  const served = await ServedSession.greeted();
  served.onOpened = ({ stream }) => {
    stream.resume();
    stream.answer(Buffer.from('a'), undefined, undefined);
  };
  const ping = rawFrame(PING, 0, 0, Buffer.alloc(8));
  for (let id = 1; id < 2 * 12_000; id += 200) {
    const calls = Array.from({ length: 100 }, (_, place) => [opening(id + 2 * place, END_STREAM), ping]);
    await served.gets(...calls.flat());
  }
  expect(goawayOf(served)).toBeUndefined();
  expect(served.framesOf(PING)).toHaveLength(12_000);
});

test('streams that are refused because the client cannot know better are no fault of its', async () => {
  const served = new ServedSession({ maxStreams: 1 });
  await served.gets(PREFACE, rawFrame(SETTINGS, 0, 0));
  await served.gets(...Array.from({ length: 2000 }, (_, place) => opening(2 * place + 1)));
  expect(resetsOf(served)).toHaveLength(1999);
  // Those that had been refused are still being sent.
  await served.gets(...Array.from({ length: 2000 }, (_, place) => data(2 * place + 1, 1, END_STREAM)));
  expect(goawayOf(served)).toBeUndefined();
  await served.gets(rawFrame(SETTINGS, ACK, 0), opening(4001));
  for (let id = 4003; id < 4003 + 2 * 1100; id += 2) await served.gets(opening(id));
  expect(goawayOf(served)?.code).toBe(ERROR_CODE.ENHANCE_YOUR_CALM);
});

test('a client that provokes answers and reads none is let go', async () => {
  const served = await ServedSession.greeted(undefined, { maxStreams: 1 });
  served.socket.isStuck = true;
  for (let id = 1; id < 400_000 && served.told.length === 1; id += 2000) {
    await served.gets(...Array.from({ length: 1000 }, (_, place) => opening(id + 2 * place)));
  }
  expect(served.told).toContain('broke off');
});

test('while a client does not read, answers wait, headers and all', async () => {
  const served = await ServedSession.greeted(setting(INITIAL_WINDOW_SIZE, 2 ** 30), { maxStreams: 1000 });
  await served.gets(wider(0, 2 ** 30), wholeCall(1));
  served.socket.isStuck = true;
  served.streams[0]?.stream.answer(Buffer.alloc(1_000_000), undefined, undefined);
  await turn();
  const before = Buffer.concat(served.socket.writes).length;
  for (let id = 3; id < 2000; id += 2) await served.gets(wholeCall(id));
  for (const { stream } of served.streams.slice(1)) {
    stream.answer(Buffer.alloc(10), [':status', '200', 'x-large', 'x'.repeat(10_000)], undefined);
  }
  await turn();
  expect(Buffer.concat(served.socket.writes).length).toBe(before);
  expect(served.socket.writableLength).toBeLessThan(1024 * 1024);
  expect(served.told).toEqual(['greeted']);
});

// Node's client never closes a stream that is reset without an error while it sends.
test('a call that is answered while its request still comes lets it come, and is closed by its end', async () => {
  const served = await ServedSession.greeted();
  await served.gets(opening(1), data(1, 400));
  const [one] = served.streams;
  one?.stream.respond([':status', '200', 'grpc-status', '8'], true);
  await served.gets(data(1, 600), data(1, 600), data(1, 600));
  expect(resetsOf(served)).toEqual([]);
  expect(one?.events).toEqual(['received', 'answered']);
  expect(served.unwanted.size).toBe(1);
  expect(served.session.openStreams).toBe(1);
  await served.gets(data(1, 10, END_STREAM));
  expect(one?.events).toEqual(['received', 'answered', 'closed']);
  expect([served.unwanted.size, served.session.openStreams]).toEqual([0, 0]);
});

test.each(['too much of it comes', 'its time is over', 'the client takes it back'])(
  'it is reset, or closed, when %s',
  async (how) => {
    const served = await ServedSession.greeted();
    await served.gets(opening(1));
    const [one] = served.streams;
    one?.stream.respond([':status', '200', 'grpc-status', '8'], true);
    if (how.startsWith('too')) for (let i = 0; i < 12; i++) await served.gets(data(1, 450));
    else if (how.startsWith('its')) one?.stream.expire();
    else await served.gets(reset(1));
    await turn();
    expect(resetsOf(served)).toEqual(how.startsWith('the') ? [] : [[1, ERROR_CODE.NO_ERROR]]);
    expect(one?.events).toEqual(['answered', 'closed']);
    expect([served.unwanted.size, served.session.openStreams]).toEqual([0, 0]);
    if (how.startsWith('the')) return;
    await served.gets(data(1, 10), data(1, 10, END_STREAM));
    expect(goawayOf(served)).toBeUndefined();
  },
);

test('what is held of a request is let go with its answer', async () => {
  const served = await ServedSession.greeted();
  served.onOpened = () => {};
  await served.gets(opening(1), data(1, 900));
  expect(served.heldBytes).toBe(900);
  served.streams[0]?.stream.respond([':status', '200', 'grpc-status', '8'], true);
  expect(served.heldBytes).toBe(0);
  expect(served.framesOf(RST_STREAM)).toEqual([]);
});

test('a graceful close names the last call that is served, refuses others, and ends with it', async () => {
  const served = await ServedSession.greeted();
  await served.gets(wholeCall(1), wholeCall(3));
  served.session.close();
  await served.gets(wholeCall(5), opening(7));
  expect(goawayOf(served)).toEqual({ lastId: 3, code: ERROR_CODE.NO_ERROR });
  expect(resetsOf(served)).toEqual([
    [5, ERROR_CODE.REFUSED_STREAM],
    [7, ERROR_CODE.REFUSED_STREAM],
  ]);
  expect(served.socket.writableEnded).toBe(false);
  for (const { stream } of served.streams) stream.answer(Buffer.from('a'), undefined, undefined);
  await turn();
  expect(served.told).toEqual(['greeted', 'left']);
  expect(goawayOf(served)).toEqual({ lastId: 3, code: ERROR_CODE.NO_ERROR });
  expect(served.framesOf(DATA)).toHaveLength(2);
});

test('a graceful close does not wait for the rest of requests that have been answered', async () => {
  const served = await ServedSession.greeted();
  await served.gets(opening(1), opening(3));
  served.streams[0]?.stream.respond([':status', '200', 'grpc-status', '8'], true);
  served.session.close();
  expect(served.told).toEqual(['greeted']);
  served.streams[1]?.stream.respond([':status', '200', 'grpc-status', '8'], true);
  await turn();
  expect(served.told).toEqual(['greeted', 'left']);
  expect(served.streams.map(({ events }) => events.at(-1))).toEqual(['closed', 'closed']);
});

test('a client that goes on sending to a connection that has ended is listened to for a while only', async () => {
  const served = await ServedSession.greeted();
  await served.gets(opening(2));
  const flood = Buffer.alloc(1024 * 1024);
  for (let i = 0; i < 10; i++) await served.gets(flood);
  expect(served.socket.destroyed).toBe(false);
  for (let i = 0; i < 10; i++) await served.gets(flood);
  expect(served.socket.destroyed).toBe(true);
  await turn();
  expect(served.told.at(-1)).toBe('closed');
});

const ids = fc.constantFrom(1, 3, 5, 7, 9);
const decent = fc.oneof(
  { weight: 4, arbitrary: ids.map((id) => opening(id)) },
  { weight: 6, arbitrary: fc.tuple(ids, fc.nat(300)).map(([id, bytes]) => data(id, bytes)) },
  { weight: 2, arbitrary: ids.map((id) => data(id, 5, END_STREAM)) },
  { weight: 3, arbitrary: fc.tuple(ids, fc.integer({ min: 1, max: 9000 })).map(([id, by]) => wider(id, by)) },
  {
    weight: 1,
    arbitrary: fc.nat(70_000).map((size) => rawFrame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, size))),
  },
  { weight: 1, arbitrary: ids.map((id) => reset(id)) },
);
const rude = fc
  .tuple(fc.nat(12), fc.nat(255), fc.nat(10), fc.uint8Array({ maxLength: 20 }))
  .map(([type, flags, id, payload]) => rawFrame(type, flags, id, Buffer.from(payload)));
const action = fc.oneof(
  {
    weight: 40,
    arbitrary: fc
      .oneof({ weight: 40, arbitrary: decent }, { weight: 1, arbitrary: rude })
      .map((bytes) => ({ do: 'get' as const, bytes })),
  },
  {
    weight: 30,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'answer' as const,
        'respond' as const,
        'fail' as const,
        'write' as const,
        'end' as const,
        'pause' as const,
        'resume' as const,
        'reset' as const,
        'expire' as const,
      ),
      which: fc.nat(4),
      bytes: fc.nat(30_000),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'turn' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'close' as const }) },
);

test('whatever a client sends and handlers do, every stream is told its story in order and its end once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 10, maxLength: 120, size: 'max' }), async (actions) => {
      const served = await ServedSession.greeted();
      for (const one of actions) {
        if (one.do === 'get') await served.gets(one.bytes);
        else if (one.do === 'turn') await turn();
        else if (one.do === 'close') served.session.close();
        else {
          const stream = served.streams[one.which]?.stream;
          if (one.do === 'answer') stream?.answer(Buffer.alloc(one.bytes), undefined, undefined);
          else if (one.do === 'respond') stream?.respond([':status', '200'], false);
          else if (one.do === 'fail') stream?.respond([':status', '200', 'grpc-status', '8'], true);
          else if (one.do === 'write') {
            if (stream?.headersSent) stream.write(Buffer.alloc(one.bytes));
          } else if (one.do === 'end') {
            if (stream?.headersSent) stream.end(undefined, ['grpc-status', '0']);
          } else stream?.[one.do]();
        }
      }
      await turn();
      served.socket.destroy();
      await turn();
      await turn();
      expect(served.told.filter((event) => event === 'closed')).toHaveLength(1);
      expect(served.told.filter((event) => event.startsWith('failed')).length).toBeLessThanOrEqual(1);
      expect([served.heldBytes, served.unwanted.size, served.session.openStreams]).toEqual([0, 0, 0]);
      for (const { events } of served.streams) {
        const story = events.filter((event) => event !== 'drained').join(' ');
        expect(story).toMatch(/^(received )*(ended |answered )?closed$/);
        expect(events.at(-1)).toBe('closed');
      }
      for (const { stream } of served.streams) {
        const said = served.frames.filter(({ streamId }) => streamId === stream.id);
        const ends = said.filter(
          ({ type, flags }) =>
            type === RST_STREAM || ((type === HEADERS || type === DATA) && (flags & END_STREAM) !== 0),
        );
        // An answer, or a reset, or at most an answer and then a reset without an error.
        expect(ends.length).toBeLessThanOrEqual(2);
        const end = said.indexOf(ends[0] as RawFrame);
        if (end !== -1)
          for (const { type } of said.slice(end + 1)) expect([RST_STREAM, WINDOW_UPDATE]).toContain(type);
      }
      const sent = served.framesOf(DATA).reduce((sum, { payload }) => sum + payload.length, 0);
      expect(sent).toBeLessThanOrEqual(65_535);
    }),
    { numRuns: 200 },
  );
});
