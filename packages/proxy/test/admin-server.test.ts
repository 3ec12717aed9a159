import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { AdminServer } from '../src/admin/admin-server.js';

// Root cause: Node handles all requests of a packet before it checks which answers were read. 64 KiB of pipelined requests
// produced a thousand answers on each of a thousand connections.
test('a client that pipelines many requests is disconnected', async () => {
  let asked = 0;
  const server = new AdminServer({
    metrics: () => {
      asked += 1;
      return [];
    },
    readiness: () => ({ isReady: true, reasons: [] }),
  });
  const { port } = await server.listen('127.0.0.1', 0);
  onTestFinished(() => server.close());
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.write('GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(1000));
  await new Promise((resolve) => socket.resume().once('close', resolve));
  expect(asked).toBeLessThanOrEqual(4);

  const one = await fetch(`http://127.0.0.1:${port}/livez`);
  expect(await one.text()).toBe('alive\n');
});

test('a client without pipelining is served on one connection', async () => {
  const server = new AdminServer({ metrics: () => [], readiness: () => ({ isReady: true, reasons: [] }) });
  const { port } = await server.listen('127.0.0.1', 0);
  onTestFinished(() => server.close());
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  for (let i = 0; i < 20; i++) {
    const answered = new Promise<Buffer>((resolve) => socket.once('data', resolve));
    socket.write('GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n');
    expect((await answered).toString()).toMatch(/^HTTP\/1\.1 200 OK/);
  }
});
