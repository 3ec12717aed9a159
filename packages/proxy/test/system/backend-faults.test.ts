import { constants } from 'node:http2';
import { status as STATUS } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../../redis/test/support/eventually.js';
import { freePort } from '../../../redis/test/support/free-port.js';
import { batchesOf, proxied } from '../support/proxied.js';
import { rawBackend } from '../support/raw-backend.js';
import { rawClient } from '../support/raw-client.js';
import { tcpRelay } from '../support/tcp-relay.js';

const REFUSED = constants.NGHTTP2_REFUSED_STREAM;

describe('a backend that dies', () => {
  it('during a batch fails that batch; calls succeed after its return', async () => {
    const port = await freePort();
    const backend = await rawBackend({ port });
    const running = await proxied(backend, batchesOf(2));
    const client = rawClient(running.port);
    await backend.behave({ do: 'echo', count: 1 }, { do: 'nothing' });
    const answered = client.call('answered');
    const lost = client.call('lost');
    expect(await answered).toMatchObject({ status: 0, text: 'answered' });
    await backend.kill();
    expect(await lost).toMatchObject({ status: STATUS.UNAVAILABLE });
    const meanwhile = await Promise.all([client.call('a'), client.call('b')]);
    expect(meanwhile.map(({ status }) => status)).toEqual([STATUS.UNAVAILABLE, STATUS.UNAVAILABLE]);

    const next = await rawBackend({ port });
    await eventually('calls to succeed again', async () => {
      const [a, b] = await Promise.all([client.call('a'), client.call('b')]);
      return a.status === 0 && b.status === 0;
    });
    await next.flushed();
    expect(next.streams[0]?.texts).toEqual(['a', 'b']);
  });

  it('repeatedly under load fails only calls in flight, and every call ends', async () => {
    const port = await freePort();
    let backend = await rawBackend({ port });
    const running = await proxied(backend, { methods: [{ method: '*/Compute', maxBatchSize: 8 }] });
    const client = rawClient(running.port);
    let isOver = false;
    let wrong = 0;
    let succeeded = 0;
    const statuses = new Set<number>();
    const users = Array.from({ length: 16 }, async (_, user) => {
      for (let count = 0; !isOver; count += 1) {
        const message = `${user} ${count}`;
        const { status, text } = await client.call(message);
        statuses.add(status);
        if (status === 0) succeeded += 1;
        if (status === 0 && text !== message) wrong += 1;
      }
    });
    for (let round = 0; round < 3; round += 1) {
      const before = succeeded;
      await eventually('a hundred more answers', () => succeeded > before + 100);
      await backend.kill();
      backend = await rawBackend({ port });
    }
    const before = succeeded;
    await eventually('a hundred more answers', () => succeeded > before + 100);
    isOver = true;
    await Promise.all(users);
    expect(wrong).toBe(0);
    expect([...statuses].sort()).toEqual([STATUS.OK, STATUS.UNAVAILABLE]);
  });

  it('before its start holds calls until their deadline', async () => {
    const port = await freePort();
    const running = await proxied({ target: `127.0.0.1:${port}` }, batchesOf(1));
    const client = rawClient(running.port);
    const { status, message } = await client.call('x');
    expect([status, message]).toEqual([STATUS.UNAVAILABLE, 'The backend is unavailable.']);
    expect(running.log.join()).toContain(`127.0.0.1:${port} cannot be reached`);
    await rawBackend({ port });
    await eventually('a call to succeed', async () => (await client.call('x')).status === 0);
  });
});

describe('a batch that the backend has not started', () => {
  it('is retried', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(2));
    await backend.behaveOnce([{ do: 'reset', code: REFUSED }]);
    const client = rawClient(port);
    const answers = await Promise.all([client.call('a'), client.call('b')]);
    expect(answers.map(({ status, text }) => [status, text])).toEqual([
      [0, 'a'],
      [0, 'b'],
    ]);
    await backend.flushed();
    expect(backend.streams.map(({ texts }) => texts)).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ]);
  });

  it('is retried only once', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(1));
    await backend.behave({ do: 'reset', code: REFUSED });
    expect(await rawClient(port).call('a')).toMatchObject({ status: STATUS.UNAVAILABLE });
    expect(backend.begun).toBe(2);
  });

  it('is retried on another backend if there is one', async () => {
    const [refusing, other] = [await rawBackend(), await rawBackend()];
    const { port, proxy } = await proxied([refusing, other], { ...batchesOf(1), ejection: false });
    // A backend that is still connecting does not count.
    await eventually('both to be connected', () => proxy.stats().backends.every(({ isUp }) => isUp));
    await refusing.behave({ do: 'reset', code: REFUSED });
    const client = rawClient(port);
    await eventually('the refusing backend to be tried', async () => {
      expect(await client.call('a')).toMatchObject({ status: 0, text: 'a' });
      return refusing.begun > 0;
    });
  });

  it('because its stream id is above that of a GOAWAY is retried on a new connection', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(1));
    const client = rawClient(port);
    expect((await client.call('first')).status).toBe(0);
    await backend.behaveOnce([{ do: 'goaway', last: 'before' }]);
    expect(await client.call('second')).toMatchObject({ status: 0, text: 'second' });
    expect(await client.call('third')).toMatchObject({ status: 0, text: 'third' });
  });

  it('is not retried if it may have been started or was partly answered', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, { ...batchesOf(2), ejection: false });
    const client = rawClient(port);
    const behaviours = [
      [{ do: 'reset', code: constants.NGHTTP2_INTERNAL_ERROR }],
      [
        { do: 'echo', count: 1 },
        { do: 'reset', code: REFUSED },
      ],
      [{ do: 'trailers only', status: STATUS.UNAVAILABLE }],
      [{ do: 'destroy' }],
    ] as const;
    for (const [index, steps] of behaviours.entries()) {
      await backend.behave(...steps);
      await eventually('the backend to be reached', async () => {
        const [, b] = await Promise.all([client.call(`${index}`), client.call(`${index}`)]);
        expect(b.status).toBeGreaterThan(0);
        return backend.streams.some(({ texts }) => texts[0] === `${index}`);
      });
      await backend.flushed();
      expect(backend.streams.filter(({ texts }) => texts[0] === `${index}`)).toHaveLength(1);
    }
  });
});

describe('GOAWAY', () => {
  it('under traffic loses no call', async () => {
    const backend = await rawBackend();
    const relay = await tcpRelay(backend.port);
    const { port } = await proxied(relay, { methods: [{ method: '*/Compute', maxBatchSize: 8 }] });
    const client = rawClient(port);
    let isOver = false;
    let succeeded = 0;
    const failures: string[] = [];
    const users = Array.from({ length: 24 }, async (_, user) => {
      while (!isOver) {
        const { status, message, text } = await client.call(`${user}`);
        if (status === 0 && text === `${user}`) succeeded += 1;
        else failures.push(`${status} ${message}`);
      }
    });
    for (let round = 0; round < 5; round += 1) {
      const before = succeeded;
      await eventually('two hundred more answers', () => succeeded > before + 200);
      await backend.goAway();
    }
    const before = succeeded;
    await eventually('two hundred more answers', () => succeeded > before + 200);
    isOver = true;
    await Promise.all(users);
    expect(failures).toEqual([]);
  });

  it('lets the batch in flight end on the old connection', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(1));
    const client = rawClient(port);
    await backend.behaveOnce([{ do: 'goaway' }, { do: 'hold', name: 'gate' }, { do: 'echo' }, { do: 'end' }]);
    const running = client.call('running');
    await backend.untilHeld('gate');
    const next = client.call('next');
    await backend.release('gate');
    expect(await running).toMatchObject({ status: 0, text: 'running' });
    expect(await next).toMatchObject({ status: 0, text: 'next' });
  });
});

it('the stream limit of a backend takes precedence over the in-flight limit', async () => {
  const backend = await rawBackend({ settings: { maxConcurrentStreams: 1 } });
  const { port } = await proxied(backend, { ...batchesOf(1), maxBatchesInFlight: 8 });
  const client = rawClient(port);
  const messages = Array.from({ length: 40 }, (_, index) => `${index}`);
  const answers = await Promise.all(messages.map((message) => client.call(message)));
  expect(answers.map(({ status, text }) => ({ status, text }))).toEqual(
    messages.map((text) => ({ status: 0, text })),
  );
});
