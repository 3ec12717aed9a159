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
