import { expect, test } from 'vitest';
import { FrameWriter } from '../../src/http2/frame-writer.js';
import { FakeSocket } from '../support/fake-socket.js';

test('what is sent in one turn is one write', async () => {
  const socket = new FakeSocket();
  const writer = new FrameWriter(socket.asSocket);
  for (const text of ['headers', 'message', 'end']) writer.push(Buffer.from(text));
  expect(socket.writes).toEqual([]);
  await Promise.resolve();
  await new Promise((resolve) => process.nextTick(resolve));
  expect(socket.writes.map(String)).toEqual(['headersmessageend']);
});

test('large ones are not copied', async () => {
  const socket = new FakeSocket();
  const writer = new FrameWriter(socket.asSocket);
  const large = Buffer.alloc(100_000);
  writer.push(Buffer.from('head'));
  writer.push(large);
  writer.flush();
  expect(socket.writes[1]).toBe(large);
});

// Beyond 32 KiB each frame was a write of its own: a peer that read nothing and had a million settings acknowledged took
// 300 MB where 16 MiB are allowed.
test('small ones are put together, also between large ones, and in their order', () => {
  const socket = new FakeSocket();
  const writer = new FrameWriter(socket.asSocket);
  const large = Buffer.alloc(100_000, 'l');
  const sent: Buffer[] = [];
  const push = (chunk: Buffer) => {
    sent.push(chunk);
    writer.push(chunk);
  };
  for (let i = 0; i < 10_000; i++) push(Buffer.from(`ack ${i};`));
  push(large);
  push(large);
  for (let i = 0; i < 10; i++) push(Buffer.from(`end ${i};`));
  writer.flush();
  expect(socket.writes.map((write) => write === large)).toEqual([false, true, true, false]);
  expect(Buffer.concat(socket.writes).equals(Buffer.concat(sent))).toBe(true);
});

test('it is congested, and at last flooded, by what a peer does not read', () => {
  const socket = new FakeSocket();
  socket.isStuck = true;
  const writer = new FrameWriter(socket.asSocket);
  writer.push(Buffer.alloc(200_000));
  expect(writer.isCongested).toBe(false);
  writer.flush();
  writer.push(Buffer.alloc(100_000));
  expect(writer.isCongested).toBe(true);
  expect(writer.isFlooded).toBe(false);
  writer.flush();
  writer.push(Buffer.alloc(16 * 1024 * 1024));
  expect(writer.isFlooded).toBe(true);
});

test('nothing is written to a socket that is gone', () => {
  const socket = new FakeSocket();
  const writer = new FrameWriter(socket.asSocket);
  writer.push(Buffer.from('late'));
  socket.destroy();
  writer.flush();
  expect(socket.writes).toEqual([]);
});
