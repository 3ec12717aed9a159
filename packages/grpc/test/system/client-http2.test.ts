/** HTTP/2 as our clients speak it, with peers that use all of it, and with peers that break it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { frameOf, STATUS } from '../../src/index.js';
import { until } from '../support/gate.js';
import { begunCall, greetedPeer } from '../support/greeted-peer.js';
import {
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  GOAWAY,
  HEADERS,
  headerBlock,
  PING,
  type RawPeer,
  RST_STREAM,
  rawFrame,
  SETTINGS,
  setting,
  uint32,
  WINDOW_UPDATE,
} from '../support/raw-http2.js';

const PUSH_PROMISE = 0x5;
const PRIORITY = 0x2;
const PADDED = 0x8;
const WITH_PRIORITY = 0x20;

const RESPONSE = headerBlock({ ':status': '200', 'content-type': 'application/grpc' });
const TRAILERS = headerBlock({ 'grpc-status': '0' });
const MESSAGE = frameOf(Buffer.from('answer'));
const answer = (streamId: number) => [
  rawFrame(HEADERS, END_HEADERS, streamId, RESPONSE),
  rawFrame(DATA, 0, streamId, MESSAGE),
  rawFrame(HEADERS, END_HEADERS | END_STREAM, streamId, TRAILERS),
];

function dataBytes(peer: RawPeer, streamId: number): number {
  return peer.frames
    .filter((frame) => frame.type === DATA && frame.streamId === streamId)
    .reduce((sum, { payload }) => sum + payload.length, 0);
}

function hasEnded(peer: RawPeer, streamId: number): boolean {
  return peer.frames.some(
    ({ type, flags, streamId: id }) => type === DATA && id === streamId && (flags & END_STREAM) !== 0,
  );
}

const PROTOCOL_ERROR = 1;
const FLOW_CONTROL_ERROR = 3;
const FRAME_SIZE_ERROR = 6;
const COMPRESSION_ERROR = 9;
const ENHANCE_YOUR_CALM = 11;

test.each<[string, Buffer[], number]>([
  ['a message without its stream', [rawFrame(DATA, 0, 0, MESSAGE)], PROTOCOL_ERROR],
  ['headers without their stream', [rawFrame(HEADERS, END_HEADERS, 0, RESPONSE)], PROTOCOL_ERROR],
  ['an answer that nobody asked for', [rawFrame(HEADERS, END_HEADERS, 3, RESPONSE)], PROTOCOL_ERROR],
  ['a stream of the server’s', [rawFrame(HEADERS, END_HEADERS, 2, RESPONSE)], PROTOCOL_ERROR],
  ['a reset of what nobody began', [rawFrame(RST_STREAM, 0, 5, uint32(8))], PROTOCOL_ERROR],
  ['half a reset', [rawFrame(RST_STREAM, 0, 1, Buffer.alloc(3))], FRAME_SIZE_ERROR],
  ['a push', [rawFrame(PUSH_PROMISE, END_HEADERS, 1, Buffer.concat([uint32(2), RESPONSE]))], PROTOCOL_ERROR],
  ['a frame that is too long', [rawFrame(DATA, 0, 1, Buffer.alloc(16_385))], FRAME_SIZE_ERROR],
  ['settings of a stream', [rawFrame(SETTINGS, 0, 1)], PROTOCOL_ERROR],
  ['half a setting', [rawFrame(SETTINGS, 0, 0, Buffer.alloc(7))], FRAME_SIZE_ERROR],
  ['an acknowledgement of more than nothing', [rawFrame(SETTINGS, 1, 0, setting(3, 1))], FRAME_SIZE_ERROR],
  ['a ping that is too short', [rawFrame(PING, 0, 0, Buffer.alloc(7))], FRAME_SIZE_ERROR],
  ['a ping of a stream', [rawFrame(PING, 0, 1, Buffer.alloc(8))], PROTOCOL_ERROR],
  ['a short GOAWAY', [rawFrame(GOAWAY, 0, 0, Buffer.alloc(7))], FRAME_SIZE_ERROR],
  ['a window that grows by nothing', [rawFrame(WINDOW_UPDATE, 0, 0, uint32(0))], PROTOCOL_ERROR],
  ['a window beyond all measure', [rawFrame(WINDOW_UPDATE, 0, 0, uint32(2 ** 31 - 1))], FLOW_CONTROL_ERROR],
  [
    'windows that grow beyond all measure',
    [rawFrame(WINDOW_UPDATE, 0, 1, uint32(1000)), rawFrame(SETTINGS, 0, 0, setting(4, 2 ** 31 - 1))],
    FLOW_CONTROL_ERROR,
  ],
  ['more padding than there is', [rawFrame(DATA, PADDED, 1, Buffer.from([9, 1, 2]))], PROTOCOL_ERROR],
  ['padding of nothing', [rawFrame(DATA, PADDED, 1)], PROTOCOL_ERROR],
  ['half a priority', [rawFrame(HEADERS, END_HEADERS | WITH_PRIORITY, 1, Buffer.alloc(3))], PROTOCOL_ERROR],
  [
    'headers that cannot be read',
    [rawFrame(HEADERS, END_HEADERS, 1, Buffer.from([0x80]))],
    COMPRESSION_ERROR,
  ],
  ['a continuation without headers', [rawFrame(CONTINUATION, END_HEADERS, 1, RESPONSE)], PROTOCOL_ERROR],
  [
    'something between headers and their rest',
    [rawFrame(HEADERS, 0, 1, RESPONSE), rawFrame(PING, 0, 0, Buffer.alloc(8))],
    PROTOCOL_ERROR,
  ],
  [
    'a continuation on another stream',
    [rawFrame(HEADERS, 0, 1, RESPONSE), rawFrame(CONTINUATION, END_HEADERS, 3)],
    PROTOCOL_ERROR,
  ],
  [
    'headers without end',
    [rawFrame(HEADERS, 0, 1, RESPONSE), ...Array(5).fill(rawFrame(CONTINUATION, 0, 1, Buffer.alloc(16_000)))],
    ENHANCE_YOUR_CALM,
  ],
  [
    'empty headers without end',
    [rawFrame(HEADERS, 0, 1, RESPONSE), ...Array(100).fill(rawFrame(CONTINUATION, 0, 1))],
    ENHANCE_YOUR_CALM,
  ],
])('%s ends the connection: the peer is told why, the call once', async (_name, frames, errorCode) => {
  await using greeted = await greetedPeer();
  const call = await begunCall(greeted, ['m']);
  greeted.peer.send(...frames, ...answer(1));
  expect(await call.ended).toMatchObject({ status: STATUS.UNAVAILABLE, isUnseen: false });
  const goaway = await greeted.peer.saw(({ type }) => type === GOAWAY);
  expect(goaway?.payload.readUInt32BE(4)).toBe(errorCode);
  await greeted.peer.closed();
  expect(call.ends).toHaveLength(1);
  expect(call.messages).toEqual([]);
  expect(greeted.channel.openCalls).toBe(0);
});

const headersOf = (headers: Record<string, string>, flags = END_HEADERS) =>
  rawFrame(HEADERS, flags, 1, headerBlock(headers));

test.each<[string, Buffer[], number, number]>([
  ['messages before the headers', [rawFrame(DATA, 0, 1, MESSAGE)], PROTOCOL_ERROR, STATUS.INTERNAL],
  [
    'headers without a status',
    [headersOf({ 'content-type': 'application/grpc' })],
    PROTOCOL_ERROR,
    STATUS.INTERNAL,
  ],
  ['a header in upper case', [headersOf({ ':status': '200', 'X-A': 'b' })], PROTOCOL_ERROR, STATUS.INTERNAL],
  ['another protocol', [headersOf({ ':status': '101' })], PROTOCOL_ERROR, STATUS.INTERNAL],
  [
    'an end before the answer',
    [headersOf({ ':status': '103' }, END_HEADERS | END_STREAM)],
    PROTOCOL_ERROR,
    STATUS.INTERNAL,
  ],
  [
    'trailers that are not the end',
    [rawFrame(HEADERS, END_HEADERS, 1, RESPONSE), rawFrame(HEADERS, END_HEADERS, 1, TRAILERS)],
    PROTOCOL_ERROR,
    STATUS.INTERNAL,
  ],
  [
    'a second answer',
    [rawFrame(HEADERS, END_HEADERS, 1, RESPONSE), rawFrame(HEADERS, END_HEADERS | END_STREAM, 1, RESPONSE)],
    PROTOCOL_ERROR,
    STATUS.INTERNAL,
  ],
  [
    'more headers than anybody needs',
    [
      headersOf({
        ':status': '200',
        ...Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`x${i}`, ''])),
      }),
    ],
    ENHANCE_YOUR_CALM,
    STATUS.RESOURCE_EXHAUSTED,
  ],
  [
    'a stream’s window that grows by nothing',
    [rawFrame(WINDOW_UPDATE, 0, 1, uint32(0))],
    PROTOCOL_ERROR,
    STATUS.INTERNAL,
  ],
  [
    'a stream’s window beyond all measure',
    [rawFrame(WINDOW_UPDATE, 0, 1, uint32(2 ** 31 - 1))],
    FLOW_CONTROL_ERROR,
    STATUS.INTERNAL,
  ],
])('%s resets the call, and no other', async (_name, frames, errorCode, status) => {
  await using greeted = await greetedPeer();
  const call = await begunCall(greeted, ['m']);
  const other = await begunCall(greeted, ['m']);
  greeted.peer.send(...frames, ...answer(3));
  expect((await call.ended).status).toBe(status);
  expect((await other.ended).status).toBe(STATUS.OK);
  const reset = await greeted.peer.saw(({ type, streamId }) => type === RST_STREAM && streamId === 1);
  expect(reset?.payload.readUInt32BE(0)).toBe(errorCode);
  // What the peer sent before it knew of the reset does no harm.
  greeted.peer.send(
    ...answer(1),
    rawFrame(RST_STREAM, 0, 1, uint32(0)),
    rawFrame(WINDOW_UPDATE, 0, 1, uint32(1)),
  );
  const third = await begunCall(greeted, ['m']);
  greeted.peer.send(...answer(5));
  expect((await third.ended).status).toBe(STATUS.OK);
  expect(call.ends).toHaveLength(1);
});

/** All that a decent peer may do: padding, priorities, headers in pieces, an early hint, frames of extensions. */
const ODD_ANSWER = Buffer.concat([
  rawFrame(0xbe, 0xff, 1, Buffer.from('whatever')),
  rawFrame(PRIORITY, 0, 1, Buffer.alloc(5)),
  headersOf({ ':status': '103', link: '</x>' }),
  rawFrame(
    HEADERS,
    PADDED | WITH_PRIORITY,
    1,
    Buffer.concat([Buffer.from([3]), Buffer.alloc(5), RESPONSE.subarray(0, 7), Buffer.alloc(3)]),
  ),
  rawFrame(CONTINUATION, 0, 1, RESPONSE.subarray(7, 9)),
  rawFrame(CONTINUATION, END_HEADERS, 1, RESPONSE.subarray(9)),
  rawFrame(DATA, PADDED, 1, Buffer.concat([Buffer.from([2]), MESSAGE.subarray(0, 8), Buffer.alloc(2)])),
  rawFrame(DATA, 0, 1),
  rawFrame(DATA, 0, 1, MESSAGE.subarray(8)),
  rawFrame(HEADERS, END_STREAM, 1, TRAILERS.subarray(0, 1)),
  rawFrame(CONTINUATION, END_HEADERS, 1, TRAILERS.subarray(1)),
]);

test('an answer that uses all that HTTP/2 has is understood, however its bytes are split', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }), async (lengths) => {
      await using greeted = await greetedPeer();
      const call = await begunCall(greeted, ['m']);
      let at = 0;
      for (let turn = 0; at < ODD_ANSWER.length; turn++) {
        const length = lengths[turn % lengths.length] as number;
        greeted.peer.send(ODD_ANSWER.subarray(at, at + length));
        at += length;
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(await call.ended).toMatchObject({ status: STATUS.OK });
      expect(call.messages.map(String)).toEqual(['answer']);
    }),
    { numRuns: 30 },
  );
});

test('a ping is answered as it came', async () => {
  await using greeted = await greetedPeer();
  greeted.peer.send(rawFrame(PING, 0, 0, Buffer.from('abcdefgh')));
  const pong = await greeted.peer.saw(({ type, flags }) => type === PING && flags === 1);
  expect(String(pong?.payload)).toBe('abcdefgh');
});

test('a message goes out as far as the peer’s windows allow, and on when they open', async () => {
  await using greeted = await greetedPeer(setting(4, 10));
  const { peer } = greeted;
  const call = await begunCall(greeted, [Buffer.alloc(95)]);
  await until(() => dataBytes(peer, 1) === 10);
  peer.send(rawFrame(WINDOW_UPDATE, 0, 1, uint32(5)));
  await until(() => dataBytes(peer, 1) === 15);
  // Narrower than what is out: the window is below zero, and has to come up again.
  peer.send(rawFrame(SETTINGS, 0, 0, setting(4, 2)), rawFrame(WINDOW_UPDATE, 0, 1, uint32(9)));
  await until(() => dataBytes(peer, 1) === 16);
  peer.send(rawFrame(SETTINGS, 0, 0, setting(4, 62)));
  await until(() => dataBytes(peer, 1) === 76);
  expect(hasEnded(peer, 1)).toBe(false);
  peer.send(rawFrame(WINDOW_UPDATE, 0, 1, uint32(1000)));
  await until(() => hasEnded(peer, 1));
  expect(dataBytes(peer, 1)).toBe(100);
  peer.send(...answer(1));
  expect((await call.ended).status).toBe(STATUS.OK);
});

test('the connection’s window is shared in turns, and a half-close without bytes needs none', async () => {
  await using greeted = await greetedPeer(setting(4, 1_000_000));
  const { peer } = greeted;
  const silent = await begunCall(greeted);
  const large = await begunCall(greeted, [Buffer.alloc(200_000)]);
  await until(() => dataBytes(peer, 3) === 65_535);
  const small = await begunCall(greeted, ['small']);
  silent.call.end();
  await until(() => hasEnded(peer, 1));
  expect(dataBytes(peer, 5)).toBe(0);
  peer.send(rawFrame(WINDOW_UPDATE, 0, 0, uint32(40_000)));
  await until(() => hasEnded(peer, 5));
  expect(hasEnded(peer, 3)).toBe(false);
  peer.send(rawFrame(WINDOW_UPDATE, 0, 0, uint32(1_000_000)));
  await until(() => hasEnded(peer, 3));
  peer.send(...answer(1), ...answer(3), ...answer(5));
  for (const call of [silent, large, small]) expect((await call.ended).status).toBe(STATUS.OK);
});

test('no frame is longer than the peer takes', async () => {
  await using greeted = await greetedPeer(Buffer.concat([setting(4, 1_000_000), setting(5, 20_000)]));
  greeted.peer.send(rawFrame(WINDOW_UPDATE, 0, 0, uint32(1_000_000)));
  const metadata = { 'x-large': 'x'.repeat(50_000) };
  await begunCall(greeted, [Buffer.alloc(100_000)], { metadata });
  await until(() => hasEnded(greeted.peer, 1));
  const lengths = greeted.peer.frames.map(({ payload }) => payload.length);
  expect(Math.max(...lengths)).toBe(20_000);
  expect(greeted.peer.frames.some(({ type }) => type === CONTINUATION)).toBe(true);
});

test('a paused call holds what fits into its window; more than that is a peer’s fault', async () => {
  await using greeted = await greetedPeer();
  const { peer } = greeted;
  const messages = Array.from({ length: 64 }, (_, place) => frameOf(Buffer.alloc(16_379, place)));
  const send = (streamId: number) => {
    peer.send(rawFrame(HEADERS, END_HEADERS, streamId, RESPONSE));
    for (const message of messages) peer.send(rawFrame(DATA, 0, streamId, message));
  };
  const patient = await begunCall(greeted, ['m']);
  patient.call.pause();
  send(1);
  peer.send(rawFrame(HEADERS, END_HEADERS | END_STREAM, 1, TRAILERS));
  const flooded = await begunCall(greeted, ['m']);
  flooded.call.pause();
  send(3);
  peer.send(rawFrame(DATA, 0, 3, Buffer.alloc(1)));
  expect(await flooded.ended).toMatchObject({ status: STATUS.INTERNAL });
  expect((await peer.saw(({ type }) => type === RST_STREAM))?.payload.readUInt32BE(0)).toBe(
    FLOW_CONTROL_ERROR,
  );
  // Its stream is closed, and nothing is lost of what came before.
  expect(patient.messages).toEqual([]);
  expect(patient.ends).toEqual([]);
  expect(greeted.channel.openCalls).toBe(0);
  patient.call.resume();
  expect((await patient.ended).status).toBe(STATUS.OK);
  expect(patient.messages.map((message) => message[0])).toEqual(messages.map((_, place) => place));
});

// A stream that drains behind its half-close is no invitation to write: a batch that did had nothing left.
test('nobody is asked for more once the half-close is on its way', async () => {
  await using greeted = await greetedPeer(setting(4, 10));
  const { peer } = greeted;
  const { call, ended } = await begunCall(greeted);
  let drains = 0;
  call.onDrain(() => {
    drains += 1;
    call.end(frameOf(Buffer.alloc(50)));
  });
  expect(call.write(frameOf(Buffer.alloc(50)))).toBe(false);
  peer.send(rawFrame(WINDOW_UPDATE, 0, 1, uint32(60)));
  await until(() => dataBytes(peer, 1) === 70);
  peer.send(rawFrame(WINDOW_UPDATE, 0, 1, uint32(1000)));
  await until(() => hasEnded(peer, 1));
  peer.send(...answer(1));
  expect((await ended).status).toBe(STATUS.OK);
  expect(drains).toBe(1);
});

test('a peer that widens its own limits is sent what waits for them', async () => {
  await using greeted = await greetedPeer(setting(3, 1));
  const first = await begunCall(greeted, ['m']);
  const waiting = begunCall(greeted, ['m']);
  greeted.peer.send(...answer(1));
  const second = await waiting;
  greeted.peer.send(...answer(3));
  expect((await first.ended).status).toBe(STATUS.OK);
  expect((await second.ended).status).toBe(STATUS.OK);
});

// Only the last value of a frame was looked at; but a decoder that shrinks its table on the way to it has lost its entries.
test('a peer that empties its table and opens it again in one frame is told so, and sent no index of what is gone', async () => {
  await using greeted = await greetedPeer();
  const { peer } = greeted;
  await begunCall(greeted, ['m']);
  await begunCall(greeted, ['m']);
  peer.send(rawFrame(SETTINGS, 0, 0, Buffer.concat([setting(1, 0), setting(1, 4096)])));
  await until(() => peer.frames.filter(({ type, flags }) => type === SETTINGS && flags === 1).length === 2);
  await begunCall(greeted, ['m']);
  const blocks = peer.frames.filter(({ type }) => type === HEADERS).map(({ payload }) => payload);
  const resized = Buffer.from([0x20, 0x3f, 0xe1, 0x1f]);
  expect(blocks[2]?.subarray(0, 4)).toEqual(resized);
  expect(blocks[2]?.subarray(4)).toEqual(blocks[0]);
  expect(blocks[1]?.length).toBeLessThan(blocks[0]?.length as number);
});

test('headers of a call that was cancelled still count for the table, and its messages for the connection’s window', async () => {
  await using greeted = await greetedPeer();
  const { peer } = greeted;
  const cancelled = await begunCall(greeted, ['m']);
  const other = await begunCall(greeted, ['m']);
  cancelled.call.cancel();
  await peer.saw(({ type }) => type === RST_STREAM);
  // A literal with incremental indexing: the next block refers to it.
  const indexed = Buffer.concat([Buffer.from([0x40]), headerBlock({ 'x-kept': 'by the table' }).subarray(1)]);
  peer.send(rawFrame(HEADERS, END_HEADERS, 1, Buffer.concat([RESPONSE, indexed])));
  const large = rawFrame(DATA, 0, 1, Buffer.alloc(16_384));
  const wireBytes = () =>
    peer.frames
      .filter(({ type, streamId }) => type === WINDOW_UPDATE && streamId === 0)
      .reduce((sum, { payload }) => sum + payload.readUInt32BE(), 0);
  const before = wireBytes();
  for (let i = 0; i < 1024; i++) peer.send(large);
  await until(() => wireBytes() - before === 16 * 1024 * 1024);
  peer.send(rawFrame(HEADERS, END_HEADERS, 3, Buffer.concat([RESPONSE, Buffer.from([0x80 | 62])])));
  peer.send(rawFrame(HEADERS, END_HEADERS | END_STREAM, 3, TRAILERS));
  expect((await other.ended).status).toBe(STATUS.OK);
  expect(other.headers()).toMatchObject({ 'x-kept': 'by the table' });
  expect(cancelled.ends).toHaveLength(1);
});

test('a window that the peer makes negative is waited for', async () => {
  await using greeted = await greetedPeer();
  const { peer } = greeted;
  await begunCall(greeted, [Buffer.alloc(100_000)]);
  await until(() => dataBytes(peer, 1) === 65_535);
  peer.send(rawFrame(SETTINGS, 0, 0, setting(4, 1000)), rawFrame(WINDOW_UPDATE, 0, 0, uint32(1_000_000)));
  // 64,535 below zero now.
  peer.send(rawFrame(WINDOW_UPDATE, 0, 1, uint32(64_535)), rawFrame(PING, 0, 0, Buffer.alloc(8)));
  await peer.saw(({ type }) => type === PING);
  expect(dataBytes(peer, 1)).toBe(65_535);
  peer.send(rawFrame(WINDOW_UPDATE, 0, 1, uint32(1)));
  await until(() => dataBytes(peer, 1) === 65_536);
  peer.send(rawFrame(SETTINGS, 0, 0, setting(4, 65_535)));
  await until(() => hasEnded(peer, 1));
  expect(dataBytes(peer, 1)).toBe(100_005);
});
