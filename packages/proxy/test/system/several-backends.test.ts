import { status as STATUS } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../../redis/test/support/eventually.js';
import { freePort } from '../../../redis/test/support/free-port.js';
import { HurriedClock } from '../../../redis/test/support/hurried-clock.js';
import { batchesOf, proxied } from '../support/proxied.js';
import { type RawBackend, rawBackend } from '../support/raw-backend.js';
import { type RawClient, rawClient } from '../support/raw-client.js';

const itemsAt = (backend: RawBackend) => backend.streams.reduce((sum, { items }) => sum + items.length, 0);

/** Closed-loop users until a number of calls is answered. */
async function load(client: RawClient, users: number, total: number): Promise<number[]> {
  const statuses: number[] = [];
  let asked = 0;
  await Promise.all(
    Array.from({ length: users }, async () => {
      while (asked < total) {
        asked += 1;
        statuses.push((await client.call(`${asked}`)).status);
      }
    }),
  );
  return statuses;
}

describe('several backends', () => {
  it('all get batches, the slower one fewer', async () => {
    const [fast, slow] = [await rawBackend(), await rawBackend()];
    await slow.behave({ do: 'hold', name: 'gate' }, { do: 'echo' }, { do: 'end' });
    const { port } = await proxied([fast, slow], { methods: [{ method: '*/Compute', maxBatchSize: 8 }] });
    const total = 1200;
    let isOver = false;
    const loading = load(rawClient(port), 24, total).finally(() => {
      isOver = true;
    });
    // A batch of the slow backend takes as long as ten batches of the other.
    while (!isOver) {
      const enough = fast.begun + 10;
      await eventually(
        'ten batches of the other backend',
        () => fast.begun >= enough || itemsAt(fast) + itemsAt(slow) >= total,
      );
      await slow.release('gate');
    }
    expect(new Set(await loading)).toEqual(new Set([0]));
    expect(itemsAt(slow)).toBeGreaterThan(0);
    expect(itemsAt(fast)).toBeGreaterThan(2 * itemsAt(slow));
  });

  it('the in-flight limit holds for each, and all run concurrently', async () => {
    const backends = [await rawBackend(), await rawBackend()];
    const { port } = await proxied(backends, { ...batchesOf(1), maxBatchesInFlight: 2 });
    for (const backend of backends)
      await backend.behave({ do: 'hold', name: 'gate' }, { do: 'echo' }, { do: 'end' });
    const client = rawClient(port);
    const calls = Array.from({ length: 10 }, (_, index) => client.call(`${index}`));
    const running = () => backends.map(({ begun }) => begun);
    await eventually('two batches at each', () => running().every((count) => count === 2));
    for (const backend of backends) await backend.behave({ do: 'echo' }, { do: 'end' });
    expect(running()).toEqual([2, 2]);
    for (const backend of backends)
      for (const { id } of backend.streams) await backend.perform(id, { do: 'echo' }, { do: 'end' });
    for (const { status } of await Promise.all(calls)) expect(status).toBe(0);
  });

  it('a backend that dies gets no calls until it is connected again', async () => {
    const port = await freePort();
    const staying = await rawBackend();
    const dying = await rawBackend({ port });
    const running = await proxied([staying, dying], {
      ...batchesOf(1),
      ejection: { failures: 1, durationMs: 100 },
      healthCheck: { intervalMs: 50, timeoutMs: 1000 },
    });
    const client = rawClient(running.port);
    await load(client, 8, 60);
    expect(itemsAt(dying)).toBeGreaterThan(0);
    await dying.kill();
    // Calls in flight on the lost connection may fail, later calls must not.
    await load(client, 4, 20);
    expect(new Set(await load(client, 8, 100))).toEqual(new Set([0]));

    const back = await rawBackend({ port });
    await eventually('it to get calls again', async () => {
      expect(new Set(await load(client, 8, 40))).toEqual(new Set([0]));
      return itemsAt(back) > 0;
    });
  });

  it('a backend with consecutive failures is ejected and used again later', async () => {
    const [good, bad] = [await rawBackend(), await rawBackend()];
    const clock = new HurriedClock();
    const { port } = await proxied([good, bad], {
      ...batchesOf(1),
      ejection: { failures: 3, durationMs: 20_000 },
      healthCheck: false,
      clock,
    });
    await bad.behave({ do: 'trailers only', status: STATUS.UNAVAILABLE, message: 'bad day' });
    const client = rawClient(port);
    const statuses = await load(client, 4, 200);
    expect(statuses.filter((status) => status === 0).length).toBeGreaterThan(150);
    expect(bad.begun).toBeGreaterThanOrEqual(3);
    await bad.behave({ do: 'echo' }, { do: 'end' });
    const before = bad.begun;
    clock.hurry(20_000);
    await eventually('it to get calls again', async () => {
      await load(client, 4, 20);
      return bad.begun > before + 5;
    });
    expect(new Set(await load(client, 8, 100))).toEqual(new Set([0]));
  });

  it('an ejected backend is used again after a successful health check', async () => {
    const [good, bad] = [await rawBackend(), await rawBackend()];
    const { port } = await proxied([good, bad], {
      ...batchesOf(1),
      ejection: { failures: 1, durationMs: 600_000 },
      healthCheck: { intervalMs: 30, timeoutMs: 2000 },
    });
    await bad.setHealth('not serving');
    await bad.behave({ do: 'trailers only', status: STATUS.UNAVAILABLE, message: 'bad day' });
    const client = rawClient(port);
    await eventually('it to be ejected', async () => {
      const before = bad.begun;
      await load(client, 4, 20);
      return bad.begun === before;
    });
    await bad.behave({ do: 'echo' }, { do: 'end' });
    await bad.setHealth('serving');
    const before = bad.begun;
    await eventually('it to get calls again', async () => {
      expect(new Set(await load(client, 4, 20))).toEqual(new Set([0]));
      return bad.begun > before;
    });
  });

  it('all are used if all are unhealthy', async () => {
    const backends = [await rawBackend(), await rawBackend()];
    for (const backend of backends)
      await backend.behave({ do: 'trailers only', status: STATUS.UNAVAILABLE, message: 'bad day' });
    const { port } = await proxied(backends, {
      ...batchesOf(1),
      ejection: { failures: 2, durationMs: 60_000 },
      healthCheck: false,
    });
    const client = rawClient(port);
    expect(new Set(await load(client, 4, 60))).toEqual(new Set([STATUS.UNAVAILABLE]));
    for (const backend of backends) await backend.behave({ do: 'echo' }, { do: 'end' });
    await eventually('calls to succeed', async () => (await client.call('x')).status === 0);
  });
});

describe('health checks', () => {
  const healthCheck = { intervalMs: 30, timeoutMs: 2000 };

  it('a backend that reports not serving gets no calls until it reports serving', async () => {
    const [serving, resting] = [await rawBackend(), await rawBackend()];
    await resting.setHealth('not serving');
    const { port } = await proxied([serving, resting], { ...batchesOf(1), healthCheck });
    const client = rawClient(port);
    await resting.untilChecked('not serving');
    await eventually('no call to be sent there', async () => {
      const before = resting.begun;
      await load(client, 8, 40);
      return resting.begun === before;
    });
    await resting.setHealth('serving');
    await eventually('it to get calls', async () => {
      const before = resting.begun;
      expect(new Set(await load(client, 8, 40))).toEqual(new Set([0]));
      return resting.begun > before;
    });
  });

  it('a backend that reports not serving is used if it is the only one', async () => {
    const backend = await rawBackend();
    await backend.setHealth('not serving');
    const { port } = await proxied(backend, { ...batchesOf(1), healthCheck });
    await backend.untilChecked('not serving');
    const client = rawClient(port);
    expect(new Set(await load(client, 2, 20))).toEqual(new Set([0]));
  });

  it('a backend without the health service is used', async () => {
    const [one, two] = [await rawBackend(), await rawBackend()];
    await two.setHealth('unimplemented');
    const { port } = await proxied([one, two], { ...batchesOf(1), healthCheck });
    await two.untilChecked('unimplemented');
    const client = rawClient(port);
    await eventually('both to get calls', async () => {
      expect(new Set(await load(client, 8, 40))).toEqual(new Set([0]));
      return one.begun > 0 && two.begun > 0;
    });
  });

  it('a backend that does not answer health checks gets no calls', async () => {
    const [serving, silent] = [await rawBackend(), await rawBackend()];
    await silent.setHealth('silent');
    const { port } = await proxied([serving, silent], {
      ...batchesOf(1),
      healthCheck: { intervalMs: 30, timeoutMs: 100 },
    });
    const client = rawClient(port);
    await silent.untilChecked('silent');
    await eventually('no call to be sent there', async () => {
      const before = silent.begun;
      await load(client, 8, 40);
      return silent.begun === before;
    });
  });
});
