import type { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { CallStream } from '../src/call-stream.js';
import type { Connection } from '../src/connection.js';
import type { StreamListener } from '../src/http2/client-stream.js';
import type { ServerStream } from '../src/http2/server-stream.js';
import { RawStream } from '../src/raw-stream.js';

/** What one read of a socket brings, of which little is for the stream. */
const read = Buffer.alloc(65_536);

class FakeStream {
  isPaused = false;
  isAllSent = true;
  headersSent = true;
  pause(): void {
    this.isPaused = true;
  }
  resume(): void {
    this.isPaused = false;
  }
  reset(): void {}
  /** There is no room. */
  write(): boolean {
    return false;
  }
}

function ofCaller(): [Duplex, (chunk: Buffer) => boolean] {
  const stream = new CallStream(new FakeStream() as unknown as ServerStream);
  return [stream, (chunk) => stream.received(chunk)];
}

function ofBackend(): [Duplex, (chunk: Buffer) => boolean] {
  const fake = new FakeStream();
  let listener: StreamListener | undefined;
  const connection = {
    heard() {},
    request: (_headers: unknown, given: StreamListener) => {
      listener = given;
      return fake;
    },
  };
  const stream = new RawStream(connection as unknown as Connection, {});
  const received = (chunk: Buffer) => {
    listener?.received(chunk);
    return !fake.isPaused;
  };
  return [stream, received];
}

describe.each([
  ['a caller', ofCaller],
  ['a backend', ofBackend],
])('what comes of %s', (_name, make) => {
  it('keeps nothing else of what was read with it while nobody reads it', () => {
    const [stream, received] = make();
    received(read.subarray(0, 3));
    const chunk = stream.read() as Buffer;
    expect(chunk).toHaveLength(3);
    expect(chunk.buffer).not.toBe(read.buffer);
    stream.destroy();
  });

  it('and goes there has its writer wait as soon as there is no room, however little it is', () => {
    const [stream] = make();
    expect(stream.write(read.subarray(0, 1))).toBe(false);
    stream.destroy();
  });
});

it('what comes of a caller waits below, where it is counted, unless it is read at once', async () => {
  const [stream, received] = ofCaller();
  expect(received(read.subarray(0, 1))).toBe(false);
  const whenRead = new Promise((resolve) => stream.on('data', resolve));
  await whenRead;
  expect(received(read.subarray(0, 1))).toBe(true);
  stream.destroy();
});
