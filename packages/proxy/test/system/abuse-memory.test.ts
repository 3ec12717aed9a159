/** Clients that use up memory of the proxy: incomplete messages, unread answers. */
import { expect, it } from 'vitest';
import { shortOrLong } from '../../../../scripts/test-length.js';
import { eventually } from '../../../redis/test/support/eventually.js';
import { framed } from '../support/framing.js';
import { callHeaders, FLAG, FRAME, h2Frame, headerBlock, preface, rawSocket } from '../support/h2-frames.js';
import { proxied } from '../support/proxied.js';
import { rawBackend } from '../support/raw-backend.js';
import { computePath, rawClient } from '../support/raw-client.js';
import { drained, survives } from '../support/survives.js';

const MiB = 1024 * 1024;
const callOf = (port: number, path = computePath) => headerBlock(callHeaders(port, path));

it('answers without flow-control window of the caller', async () => {
  const { backend } = await survives(
    async ({ port, backend }) => {
      const callers = shortOrLong(200, 2000);
      const client = rawClient(port, { settings: { initialWindowSize: 0 } });
      const body = Buffer.alloc(60_000, 'greedy');
      for (let count = 0; count < callers; count += 1) {
        const stream = client.open();
        stream.end(framed(body));
        stream.pause();
      }
      // All calls reach the backend and release its slots.
      const reached = () =>
        backend.streams.flatMap(({ items }) => items).filter(({ length }) => length === 60_000);
      while (reached().length < callers) await drained(port);
      client.destroy();
    },
    { methods: [{ method: '*/Compute', maxBatchSize: 8 }] },
  );
  expect(backend.begun).toBeGreaterThan(0);
});

it('requests that arrive byte by byte and never end', async () => {
  await survives(
    async ({ port }) => {
      const client = rawClient(port);
      const ends = Array.from({ length: 300 }, (_, index) => {
        const stream = client.open();
        const response = new Promise<void>((resolve) => stream.once('close', () => resolve()));
        stream.resume();
        stream.write(framed('never whole').subarray(0, index % 9));
        return response;
      });
      await drained(port);
      // The message timeout ends them.
      await Promise.all(ends);
    },
    { limits: { unfinishedMs: 500 } },
  );
});

it('unlimited method names under a wildcard', async () => {
  await survives(async ({ port }) => {
    const client = rawClient(port);
    for (let start = 0; start < 600; start += 100) {
      const calls = Array.from({ length: 100 }, (_, index) => {
        return client.call('x', { path: `/service.number${start + index}/Compute` });
      });
      for (const { status } of await Promise.all(calls)) expect(status).toBeGreaterThanOrEqual(0);
    }
  });
});

it('silent connections', async () => {
  await survives(async ({ port }) => {
    const sockets = await Promise.all(Array.from({ length: 300 }, () => rawSocket(port)));
    for (const [index, { socket }] of sockets.entries())
      if (index % 2 === 0) socket.write(preface.subarray(0, index % 24));
    await drained(port);
    for (const { socket } of sockets) socket.destroy();
  });
});

it('endless empty frames', async () => {
  await survives(
    async ({ port }) => {
      const socket = await rawSocket(port);
      socket.begin();
      await socket.write(h2Frame(FRAME.HEADERS, FLAG.END_HEADERS, 1, callOf(port)));
      const flood = Buffer.concat(Array.from({ length: 2000 }, () => h2Frame(FRAME.DATA, 0, 1)));
      for (let count = 0; count < 50 && !socket.isClosed; count += 1) await socket.write(flood);
      socket.socket.destroy();
    },
    { limits: { unfinishedMs: 5000 } },
  );
});

it('large messages that stay incomplete', async () => {
  await survives(
    async ({ port }) => {
      const part = Buffer.concat([framed(Buffer.alloc(4 * MiB)).subarray(0, 5), Buffer.alloc(3 * MiB)]);
      const clients = Array.from({ length: 40 }, () => rawClient(port));
      const ends = clients.flatMap((client) =>
        Array.from({ length: 4 }, () => {
          const stream = client.open();
          stream.resume();
          return new Promise<void>((resolve) => {
            stream.write(part, () => resolve());
            stream.once('response', () => resolve());
            stream.once('close', () => resolve());
          });
        }),
      );
      // Accepted, rejected or blocked by backpressure.
      await Promise.race([Promise.all(ends), Promise.all([1, 2, 3, 4, 5].map(() => drained(port)))]);
      for (const client of clients) client.destroy();
    },
    { limits: { maxUnfinishedBytes: 32 * MiB } },
  );
});

it('large answers that are not read', async () => {
  await survives(
    async ({ port, backend }) => {
      const client = rawClient(port, { settings: { initialWindowSize: 0 } });
      const large = Buffer.alloc(3 * MiB);
      // More than the memory limit if all of them were kept.
      const answers = shortOrLong(100, 1000);
      let sent = 0;
      for (let count = 0; count < answers; count += 1) {
        const stream = client.open();
        stream.pause();
        await new Promise<void>((resolve) => {
          stream.end(framed(large), () => resolve());
          stream.once('close', () => resolve());
        });
        sent += 1;
      }
      expect(sent).toBe(answers);
      await drained(port);
      expect(backend.begun).toBeGreaterThan(0);
      client.destroy();
    },
    { limits: { maxUntakenBytes: 32 * MiB }, maxQueueBytes: 64 * MiB },
  );
});

it('headers that are small on the wire and large in memory', async () => {
  await survives(async ({ port }) => {
    for (let connection = 0; connection < shortOrLong(5, 200); connection += 1) {
      const socket = await rawSocket(port);
      socket.begin();
      // A header of 3.9 KB in the HPACK table, referenced ten thousand times by one byte (RFC 7541, 6.1).
      const [name, value] = ['x-bomb', 'x'.repeat(3900)];
      const literal = headerBlock([[name, value]]);
      literal[0] = 0x40;
      const bomb = Buffer.concat([callOf(port), literal, Buffer.alloc(10_000, 0xbe)]);
      const flags = FLAG.END_HEADERS | FLAG.END_STREAM;
      await socket.write(h2Frame(FRAME.HEADERS, flags, 1, bomb));
      expect(
        await socket.until(({ type }) => type === FRAME.RST_STREAM || type === FRAME.GOAWAY),
      ).toBeDefined();
      socket.socket.destroy();
    }
  });
});

it('connections above the limit are closed, and the others are served', async () => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, { limits: { maxConnections: 40 } });
  const first = rawClient(port);
  expect((await first.call('x')).status).toBe(0);
  const sockets = await Promise.all(Array.from({ length: 60 }, () => rawSocket(port)));
  for (const socket of sockets) socket.begin();
  await Promise.any(sockets.map(({ closed }) => closed));
  expect((await first.call('x')).status).toBe(0);
  for (const { socket } of sockets) socket.destroy();
  await eventually('a new caller to be accepted', async () => (await rawClient(port).call('x')).status === 0);
});
