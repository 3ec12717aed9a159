/** Unusual backends: silent, of another protocol, behind a DNS name, or shared by busy methods. */
import { createServer, type Server, type Socket } from 'node:net';
import { status as STATUS } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../../redis/test/support/eventually.js';
import { HurriedClock } from '../../../redis/test/support/hurried-clock.js';
import { batchesOf, proxied } from '../support/proxied.js';
import { rawBackend } from '../support/raw-backend.js';
import { batchedPath, rawClient } from '../support/raw-client.js';

/** A server that accepts connections and sends these bytes. */
async function tcpServer(bytes: string): Promise<{ target: string; connections: () => number }> {
  const sockets: Socket[] = [];
  const server: Server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    if (bytes !== '') socket.end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('expected a port');
  return { target: `127.0.0.1:${address.port}`, connections: () => sockets.length };
}

describe('a backend that accepts connections but sends nothing', () => {
  it('fails calls only by their deadline', async () => {
    const { port } = await proxied(await tcpServer(''), batchesOf(1));
    const answer = await rawClient(port).call('x', { headers: { 'grpc-timeout': '200m' } });
    expect(answer.status).toBe(STATUS.DEADLINE_EXCEEDED);
  });

  it('is not used when there is another', async () => {
    const backend = await rawBackend();
    const { port } = await proxied([await tcpServer(''), backend], batchesOf(1));
    const client = rawClient(port);
    await eventually('ten calls in a row to succeed', async () => {
      for (let count = 0; count < 10; count += 1) {
        const { status } = await client.call('x', { headers: { 'grpc-timeout': '2S' } });
        if (status !== 0) return false;
      }
      return true;
    });
  });
});

it('a backend of another protocol is UNAVAILABLE, with the reason in the log', async () => {
  const other = await tcpServer('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n');
  const { port, log } = await proxied(other, batchesOf(1));
  const { status, message } = await rawClient(port).call('x');
  expect([status, message]).toEqual([STATUS.UNAVAILABLE, 'The backend is unavailable.']);
  expect(log.join('\n')).toContain(`backend ${other.target} cannot be reached`);
});

describe('a DNS name', () => {
  it('resolves to all addresses, also those without a listener', async () => {
    const backend = await rawBackend();
    // It may also have an IPv6 address, where the backend does not listen.
    const { port } = await proxied({ target: `dns:///localhost:${backend.port}` }, batchesOf(1));
    const client = rawClient(port);
    await eventually('ten calls in a row to succeed', async () => {
      for (let count = 0; count < 10; count += 1) if ((await client.call('x')).status !== 0) return false;
      return true;
    });
  });

  it('that does not exist is UNAVAILABLE, with the reason in the log', async () => {
    const { port, log } = await proxied({ target: 'dns:///missing.invalid:50051' }, batchesOf(1));
    const { status, message } = await rawClient(port).call('x', { headers: { 'grpc-timeout': '20S' } });
    expect([status, message]).toEqual([STATUS.UNAVAILABLE, 'The backend is unavailable.']);
    expect(log.join()).toContain('missing.invalid');
  });
});

describe('several methods of one backend', () => {
  const methods = [
    { method: '/test.Echo/Compute', maxBatchSize: 2 },
    { method: '/test.Echo/Rank', maxBatchSize: 2 },
  ];

  it('share its in-flight limit', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, { methods });
    await backend.behave({ do: 'hold', name: 'gate' }, { do: 'echo' }, { do: 'end' });
    const client = rawClient(port);
    const first = client.call('compute');
    await backend.untilHeld('gate');
    const second = client.call('rank', { path: '/test.Echo/Rank' });
    await new Promise<void>((resolve) => client.session.ping(() => resolve()));
    expect(backend.begun).toBe(1);
    await backend.behave({ do: 'echo' }, { do: 'end' });
    await backend.release('gate');
    expect(await first).toMatchObject({ status: 0, text: 'compute' });
    expect(await second).toMatchObject({ status: 0, text: 'rank' });
  });

  it('that no backend serves do not replace a served one', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, {
      ...batchesOf(1),
      maxBatchesInFlight: 1000,
      healthCheck: false,
    });
    const client = rawClient(port);
    expect((await client.call('x')).status).toBe(0);
    await backend.behave({ do: 'nothing' });
    await backend.behaveFor(batchedPath, { do: 'echo' }, { do: 'end' });
    const hostile = rawClient(port);
    const calls = Array.from({ length: 400 }, (_, index) =>
      hostile.call('x', { path: `/made.up${index}/Compute` }),
    );
    // Calls above the limit of methods are rejected.
    expect((await Promise.race(calls)).status).toBe(STATUS.RESOURCE_EXHAUSTED);
    expect(await client.call('y')).toMatchObject({ status: 0, text: 'y' });
    hostile.destroy();
  });

  it('do not starve each other', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, { methods });
    await backend.behave({ do: 'delay', ms: 2, perItemMs: 0 }, { do: 'echo' }, { do: 'end' });
    const client = rawClient(port);
    let isOver = false;
    onTestFinished(() => {
      isOver = true;
    });
    let busy = 0;
    const users = Array.from({ length: 40 }, async () => {
      while (!isOver) if ((await client.call('busy')).status === 0) busy += 1;
    });
    await eventually('the busy method to be busy', () => busy > 100);
    for (let count = 0; count < 20; count += 1) {
      const before = busy;
      expect(await client.call('rare', { path: '/test.Echo/Rank' })).toMatchObject({
        status: 0,
        text: 'rare',
      });
      // About as long as earlier calls, not until the other methods are idle.
      expect(busy - before).toBeLessThan(400);
    }
    isOver = true;
    await Promise.all(users);
  });
});

it('streams that a backend answers but does not end are reset', async () => {
  const backend = await rawBackend();
  const clock = new HurriedClock();
  const { port } = await proxied(backend, { ...batchesOf(1), clock });
  await backend.behave({ do: 'echo' }, { do: 'nothing' });
  const client = rawClient(port);
  for (let count = 0; count < 20; count += 1) expect((await client.call('x')).status).toBe(0);
  clock.hurry(20_000);
  for (const { id } of backend.streams) await backend.untilClosed(id);
});

it('a passed-through stream waits for the stream limit of a backend and then starts', async () => {
  const backend = await rawBackend({ settings: { maxConcurrentStreams: 1 } });
  const { port } = await proxied(backend, { ...batchesOf(1), healthCheck: false });
  await backend.behaveOnce([{ do: 'hold', name: 'gate' }, { do: 'echo' }, { do: 'end' }]);
  const client = rawClient(port);
  const path = '/test.Echo/Other';
  const first = client.call('first', { path });
  await backend.untilHeld('gate');
  const second = client.call('second', { path });
  const leaving = client.open({}, path);
  leaving.end();
  await new Promise<void>((resolve) => client.session.ping(() => resolve()));
  leaving.close(8);
  await backend.release('gate');
  expect(await first).toMatchObject({ status: 0, text: 'first' });
  expect(await second).toMatchObject({ status: 0, text: 'second' });
  expect(await client.call('third', { path })).toMatchObject({ status: 0, text: 'third' });
});
