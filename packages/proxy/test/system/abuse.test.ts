/**
 * Hostile clients. The proxy stays up, serves honest clients during and after each attack, and its memory returns to
 * about the former size.
 */
import { randomBytes } from 'node:crypto';
import { connect as connectTcp } from 'node:net';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { shortOrLong } from '../../../../scripts/test-length.js';
import { framed } from '../support/framing.js';
import {
  callHeaders,
  FLAG,
  FRAME,
  h2Frame,
  headerBlock,
  rawSocket,
  resetFrame,
  settingsFrame,
} from '../support/h2-frames.js';
import { computePath, rawClient } from '../support/raw-client.js';
import { drained, survives } from '../support/survives.js';

const MiB = 1024 * 1024;
const CANCEL = 8;

const ping = h2Frame(FRAME.PING, 0, 0, Buffer.alloc(8, 7));
const callOf = (port: number, path = computePath) => headerBlock(callHeaders(port, path));

it('streams that are opened and reset at full speed', async () => {
  const { backend } = await survives(async ({ port }) => {
    for (let connection = 0; connection < shortOrLong(2, 50); connection += 1) {
      const socket = await rawSocket(port);
      socket.begin();
      const block = callOf(port);
      for (let start = 0; start < 10_000; start += 500) {
        const frames = Array.from({ length: 500 }, (_, index) => {
          const stream = 2 * (start + index) + 1;
          return Buffer.concat([
            h2Frame(FRAME.HEADERS, FLAG.END_HEADERS, stream, block),
            resetFrame(stream, CANCEL),
          ]);
        });
        await socket.write(Buffer.concat(frames));
      }
      socket.socket.destroy();
    }
  });
  await backend.flushed();
  expect(backend.streams.flatMap(({ texts }) => texts).filter((text) => text === 'reset')).toEqual([]);
});

it('complete calls that are sent and reset at full speed', async () => {
  await survives(async ({ port }) => {
    for (let connection = 0; connection < shortOrLong(1, 30); connection += 1) {
      const socket = await rawSocket(port);
      socket.begin();
      const block = callOf(port);
      const body = framed('reset');
      for (let start = 0; start < 10_000; start += 500) {
        const frames = Array.from({ length: 500 }, (_, index) => {
          const stream = 2 * (start + index) + 1;
          return Buffer.concat([
            h2Frame(FRAME.HEADERS, FLAG.END_HEADERS, stream, block),
            h2Frame(FRAME.DATA, FLAG.END_STREAM, stream, body),
            resetFrame(stream, CANCEL),
          ]);
        });
        await socket.write(Buffer.concat(frames));
      }
      socket.socket.destroy();
    }
  });
});

it('oversized headers', async () => {
  await survives(async ({ port }) => {
    const client = rawClient(port);
    // The limit applies after the client has acknowledged SETTINGS (RFC 9113, 6.5.3).
    expect((await client.call('x')).status).toBe(0);
    for (const bytes of [20_000, 60_000]) {
      const { status } = await client.call('x', { headers: { 'x-huge': 'x'.repeat(bytes) } });
      expect(status).not.toBe(0);
    }
    for (let connection = 0; connection < 5; connection += 1) {
      const socket = await rawSocket(port);
      socket.begin();
      const block = headerBlock([...callHeaders(port, computePath), ['x-huge', 'x'.repeat(2 * MiB)]]);
      await socket.write(h2Frame(FRAME.HEADERS, 0, 1, block.subarray(0, 16_000)));
      for (let start = 16_000; start < block.length && !socket.isClosed; start += 16_000) {
        const isLast = start + 16_000 >= block.length;
        const flags = isLast ? FLAG.END_HEADERS : 0;
        await socket.write(h2Frame(FRAME.CONTINUATION, flags, 1, block.subarray(start, start + 16_000)));
      }
      expect(
        await socket.until(({ type }) => type === FRAME.RST_STREAM || type === FRAME.GOAWAY),
      ).toBeDefined();
      socket.socket.destroy();
    }
  });
});

it('endless CONTINUATION frames', async () => {
  await survives(async ({ port }) => {
    for (const piece of [
      Buffer.alloc(0),
      headerBlock([['x-a', 'b']]),
      Buffer.alloc(16_000, headerBlock([['x-a', 'b']])),
    ]) {
      const socket = await rawSocket(port);
      socket.begin();
      await socket.write(h2Frame(FRAME.HEADERS, 0, 1, callOf(port)));
      const flood = Buffer.concat(
        Array.from({ length: 100 }, () => h2Frame(FRAME.CONTINUATION, 0, 1, piece)),
      );
      let sent = 0;
      for (; sent < 64 * MiB && sent < 40_000 * 100 && !socket.isClosed; sent += flood.length)
        await socket.write(flood);
      socket.socket.destroy();
    }
  });
});

it('endless SETTINGS frames with unread acknowledgements', async () => {
  await survives(async ({ port }) => {
    const socket = await rawSocket(port);
    socket.begin();
    socket.socket.pause();
    const flood = Buffer.concat(Array.from({ length: 1000 }, (_, index) => settingsFrame([4, 1000 + index])));
    for (let count = 0; count < shortOrLong(50, 1000) && !socket.isClosed; count += 1)
      await Promise.race([socket.write(flood), drained(port)]);
  });
});

it('endless PING frames with unread answers', async () => {
  await survives(async ({ port }) => {
    const socket = await rawSocket(port);
    socket.begin();
    socket.socket.pause();
    const flood = Buffer.concat(
      Array.from({ length: 1000 }, () => h2Frame(FRAME.PING, 0, 0, Buffer.alloc(8))),
    );
    for (let count = 0; count < shortOrLong(50, 2000) && !socket.isClosed; count += 1)
      await Promise.race([socket.write(flood), drained(port)]);
  });
});

it('bytes that are not HTTP/2', async () => {
  await survives(async ({ port }) => {
    const texts = [
      'GET / HTTP/1.1\r\nHost: here\r\n\r\n',
      'POST /test.Echo/Compute HTTP/1.1\r\nHost: here\r\nContent-Length: 1000000\r\n\r\nhalf',
      'PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n',
      '\0',
    ];
    const noises = [
      ...texts.map((text) => Buffer.from(text)),
      ...Array.from({ length: shortOrLong(20, 2000) }, () => randomBytes(3000)),
    ];
    for (const noise of noises) {
      const socket = connectTcp(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.resume();
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.end(noise);
      await closed;
    }
  });
});

it('frames that violate HTTP/2', async () => {
  await survives(async ({ port }) => {
    const block = callOf(port);
    const opened = h2Frame(FRAME.HEADERS, FLAG.END_HEADERS, 1, block);
    const broken: Buffer[] = [
      h2Frame(FRAME.DATA, 0, 0, Buffer.from('on no stream')),
      h2Frame(FRAME.DATA, 0, 7, Buffer.from('on one that is not open')),
      h2Frame(FRAME.HEADERS, FLAG.END_HEADERS, 2, block),
      h2Frame(FRAME.HEADERS, FLAG.END_HEADERS, 1, randomBytes(200)),
      h2Frame(FRAME.HEADERS, FLAG.END_HEADERS | FLAG.PADDED, 1, Buffer.concat([Buffer.of(255), block])),
      Buffer.concat([opened, opened]),
      Buffer.concat([opened, h2Frame(FRAME.WINDOW_UPDATE, 0, 1, Buffer.from('7fffffff', 'hex'))]),
      h2Frame(FRAME.WINDOW_UPDATE, 0, 0, Buffer.alloc(4)),
      h2Frame(FRAME.RST_STREAM, 0, 99, Buffer.alloc(4)),
      h2Frame(FRAME.RST_STREAM, 0, 1, Buffer.alloc(1)),
      h2Frame(FRAME.SETTINGS, 0, 0, Buffer.alloc(5)),
      settingsFrame([4, 0xffff_ffff]),
      settingsFrame([5, 1]),
      h2Frame(FRAME.PING, 0, 0, Buffer.alloc(3)),
      h2Frame(FRAME.GOAWAY, 0, 0, Buffer.alloc(2)),
      h2Frame(FRAME.CONTINUATION, FLAG.END_HEADERS, 1, block),
      h2Frame(FRAME.DATA, 0, 1, Buffer.alloc(100_000)),
      h2Frame(0x5, FLAG.END_HEADERS, 1, Buffer.alloc(10)),
      Buffer.concat([opened, h2Frame(FRAME.PRIORITY, 0, 1, Buffer.from('0000000110', 'hex'))]),
    ];
    for (const bytes of broken) {
      const socket = await rawSocket(port);
      socket.begin();
      await socket.write(Buffer.concat([bytes, ping]));
      await socket.until(({ type }) => type === FRAME.GOAWAY || type === FRAME.PING);
      socket.socket.destroy();
    }
  });
});

it('requests that are not gRPC are rejected', async () => {
  await survives(async ({ port }) => {
    const client = rawClient(port);
    const requests: Record<string, string>[] = [
      { ':method': 'GET' },
      { ':method': 'PUT' },
      { 'content-type': 'application/json' },
      { 'content-type': 'text/html' },
      { ':path': '/' },
      { ':path': '*' },
      { ':path': '/no-method' },
      { ':path': '/a/b/c/d' },
      { ':path': '//' },
      { ':path': `/${'x'.repeat(8000)}/Compute` },
      { ':path': '/test.Echo/Compute?query=1' },
      { ':path': '/%00/Compute' },
    ];
    for (const headers of requests) {
      const stream = client.open(headers);
      const ended = new Promise((resolve) => stream.once('close', resolve));
      stream.resume();
      stream.end(framed('x'));
      await ended;
      expect(client.session.destroyed).toBe(false);
    }
  });
});

it('any frames in any order', async () => {
  await survives(async ({ port }) => {
    const block = callOf(port);
    const frame = fc
      .record({
        type: fc.integer({ min: 0, max: 10 }),
        flags: fc.constantFrom(0, 1, 4, 5, 8, 32, 255),
        stream: fc.constantFrom(0, 1, 1, 3, 5, 2),
        payload: fc.oneof(
          fc.constant(block),
          fc.constant(framed('fuzz')),
          fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
        ),
      })
      .map(({ type, flags, stream, payload }) => h2Frame(type, flags, stream, payload));
    await fc.assert(
      fc.asyncProperty(fc.array(frame, { minLength: 1, maxLength: 12 }), async (frames) => {
        const socket = await rawSocket(port);
        socket.begin();
        await socket.write(Buffer.concat([...frames, ping]));
        // It may report an error, answer or wait for the rest of a frame, but it must stay up.
        await Promise.race([
          socket.until(({ type }) => type === FRAME.GOAWAY || type === FRAME.PING),
          drained(port),
        ]);
        socket.socket.destroy();
      }),
      { numRuns: shortOrLong(40, 5000) },
    );
  });
});
