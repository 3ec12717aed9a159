import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ClientSession, type SessionListener } from '../../src/http2/client-session.js';
import type { ClientStream, StreamListener } from '../../src/http2/client-stream.js';
import { FakeSocket } from '../support/fake-socket.js';
import {
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  GOAWAY,
  HEADERS,
  headerBlock,
  PING,
  RST_STREAM,
  rawFrame,
  SETTINGS,
  setting,
  uint32,
  WINDOW_UPDATE,
} from '../support/raw-http2.js';

const WINDOWS = { streamWindowBytes: 1000, connectionWindowBytes: 100_000 };
const REQUEST = {
  ':method': 'POST',
  ':scheme': 'http',
  ':authority': 'a',
  ':path': '/a.B/C',
  te: 'trailers',
};

class Told implements StreamListener {
  readonly events: string[] = [];
  stream: ClientStream | undefined;

  responded(): void {
    this.events.push('responded');
  }

  received(chunk: Buffer): void {
    expect(chunk.length).toBeGreaterThan(0);
    this.events.push('received');
  }

  ended(): void {
    this.events.push('ended');
  }

  drained(): void {
    this.events.push('drained');
  }

  closed(): void {
    this.events.push('closed');
  }
}

function connected() {
  const socket = new FakeSocket();
  const told = { closed: 0, faults: [] as string[], openStreams: 0 };
  const listener: SessionListener = {
    settled: () => {},
    goneAway: () => {},
    streamClosed: () => {
      told.openStreams -= 1;
    },
    failed: (error) => told.faults.push(error.message),
    closed: () => {
      told.closed += 1;
    },
  };
  const session = new ClientSession(socket.asSocket, WINDOWS, listener);
  session.start();
  return { socket, session, told };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('a peer that pings without end and reads nothing is dropped', async () => {
  const { socket, told } = connected();
  socket.isStuck = true;
  const pings = Buffer.alloc(17 * 60_000, rawFrame(PING, 0, 0, Buffer.alloc(8)));
  socket.push(rawFrame(SETTINGS, 0, 0));
  for (let i = 0; i < 20 && told.closed === 0; i++) {
    socket.push(pings);
    await turn();
  }
  await turn();
  await turn();
  expect(told).toMatchObject({ closed: 1, faults: [expect.stringContaining('does not read')] });
});

const begun = fc.constantFrom(1, 3, 5);
const RESPONSE = headerBlock({ ':status': '200', 'content-type': 'application/grpc' });
const HINT = headerBlock({ ':status': '103' });
const TRAILERS = headerBlock({ 'grpc-status': '0' });
const decent = fc.oneof(
  fc.tuple(fc.constant(HEADERS), fc.constant(END_HEADERS), begun, fc.constantFrom(RESPONSE, RESPONSE, HINT)),
  fc.tuple(fc.constant(HEADERS), fc.constant(END_HEADERS | END_STREAM), begun, fc.constant(TRAILERS)),
  fc.tuple(
    fc.constant(DATA),
    fc.constantFrom(0, 0, END_STREAM),
    begun,
    fc.nat(400).map((length) => Buffer.alloc(length)),
  ),
  fc.tuple(
    fc.constant(WINDOW_UPDATE),
    fc.constant(0),
    fc.constantFrom(0, 1, 3, 5),
    fc.integer({ min: 1, max: 20_000 }).map(uint32),
  ),
  fc.tuple(
    fc.constant(SETTINGS),
    fc.constant(0),
    fc.constant(0),
    fc.nat(70_000).map((size) => setting(4, size)),
  ),
);
const rude = fc.oneof(
  fc.tuple(fc.constant(RST_STREAM), fc.constant(0), begun, fc.nat(12).map(uint32)),
  fc.tuple(
    fc.constant(GOAWAY),
    fc.constant(0),
    fc.constant(0),
    fc.tuple(fc.nat(7), fc.nat(2)).map(([last, code]) => Buffer.concat([uint32(last), uint32(code)])),
  ),
  fc.tuple(fc.constant(CONTINUATION), fc.constant(END_HEADERS), begun, fc.constant(TRAILERS)),
  fc.tuple(
    fc.nat(12),
    fc.nat(255),
    fc.nat(8),
    fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
  ),
);
const frame = fc.oneof({ weight: 30, arbitrary: decent }, { weight: 1, arbitrary: rude });
const action = fc.oneof(
  { weight: 5, arbitrary: frame.map((parts) => ({ do: 'frame' as const, parts })) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('call' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'write' as const,
        'end' as const,
        'pause' as const,
        'resume' as const,
        'reset' as const,
      ),
      which: fc.nat(5),
      bytes: fc.nat(40_000),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'turn' as const }) },
);

/** All bytes that were sent of messages, by stream. */
function sentBytes(written: Buffer): Map<number, number> {
  const sent = new Map<number, number>();
  let at = 24;
  while (at + 9 <= written.length) {
    const length = written.readUIntBE(at, 3);
    const id = written.readUInt32BE(at + 5);
    if (written[at + 3] === DATA) sent.set(id, (sent.get(id) ?? 0) + length);
    at += 9 + length;
  }
  expect(at).toBe(written.length);
  return sent;
}

test('whatever a peer sends and callers do, every stream is told its story in order and its end once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { minLength: 20, maxLength: 120, size: 'max' }),
      fc.integer({ min: 1, max: 500 }),
      async (actions, pieceBytes) => {
        const { socket, session, told } = connected();
        const calls: Told[] = [];
        let granted = 65_535;
        socket.push(rawFrame(SETTINGS, 0, 0));
        await turn();
        const call = () => {
          if (session.destroyed || session.closed || calls.length > 5) return;
          const one = new Told();
          one.stream = session.request(REQUEST, one);
          told.openStreams += 1;
          calls.push(one);
        };
        for (let i = 0; i < 3; i++) call();
        for (const one of actions) {
          if (one.do === 'frame') {
            const [type, flag, id, payload] = one.parts;
            const bytes = rawFrame(type, flag, id, payload);
            if (type === WINDOW_UPDATE && payload.length === 4 && id === 0)
              granted += payload.readUInt32BE(0);
            for (let at = 0; at < bytes.length; at += pieceBytes)
              socket.push(bytes.subarray(at, at + pieceBytes));
          } else if (one.do === 'turn') await turn();
          else if (one.do === 'call') call();
          else {
            const stream = calls[one.which]?.stream;
            if (one.do === 'write') stream?.write(Buffer.alloc(one.bytes));
            else if (one.do === 'end') stream?.end(Buffer.alloc(one.bytes % 100));
            else stream?.[one.do]();
          }
        }
        await turn();
        socket.destroy();
        await turn();
        await turn();
        for (const { stream } of calls) stream?.resume();
        expect(told.closed).toBe(1);
        expect(told.faults.length).toBeLessThanOrEqual(1);
        expect(told.openStreams).toBe(0);
        for (const { events } of calls) {
          const story = events.filter((event) => event !== 'drained').join(' ');
          expect(story).toMatch(/^(responded (received )*(ended )?)?closed$/);
          expect(events.at(-1)).toBe('closed');
        }
        const sent = sentBytes(Buffer.concat(socket.writes));
        expect([...sent.values()].reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(granted);
      },
    ),
    { numRuns: 300 },
  );
});
