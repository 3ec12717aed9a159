import { status as STATUS } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../../redis/test/support/eventually.js';
import { HurriedClock } from '../../../redis/test/support/hurried-clock.js';
import { framed } from '../support/framing.js';
import { grpcClient } from '../support/grpc-client.js';
import { batchesOf, proxied } from '../support/proxied.js';
import { rawBackend } from '../support/raw-backend.js';
import { rawClient } from '../support/raw-client.js';
import { settledOf } from '../support/settled.js';

const oneByOne = { method: '*/Compute', maxBatchSize: 1, maxWaitMs: 1000 };

describe('a full queue', () => {
  it('rejects at once with a retry delay, and accepts calls when there is room', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, { methods: [{ ...oneByOne, maxQueueSize: 4 }] });
    const client = rawClient(port);
    await backend.behaveOnce([{ do: 'hold', name: 'gate' }, { do: 'echo' }, { do: 'end' }]);
    const accepted = [client.call('0')];
    await backend.untilHeld('gate');
    for (const message of ['1', '2', '3', '4']) accepted.push(client.call(message));
    const settled = settledOf(accepted);
    const refused = await Promise.all(Array.from({ length: 20 }, () => client.call('one too many')));
    for (const { status, trailers, messages } of refused) {
      expect({ status, messages }).toEqual({ status: STATUS.RESOURCE_EXHAUSTED, messages: [] });
      expect(trailers['grpc-retry-pushback-ms']).toMatch(/^\d+$/);
    }
    expect(settled()).toEqual([]);
    await backend.release('gate');
    const answers = await Promise.all(accepted);
    expect(answers.map(({ status, text }) => [status, text])).toEqual(
      answers.map((_, index) => [0, `${index}`]),
    );
    expect(await client.call('later')).toMatchObject({ status: 0, text: 'later' });
    await backend.flushed();
    expect(backend.streams.flatMap(({ texts }) => texts)).not.toContain('one too many');
  });

  it('by bytes rejects further messages', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, {
      methods: [{ ...oneByOne, maxQueueSize: 1000 }],
      maxQueueBytes: 100_000,
    });
    const client = rawClient(port);
    await backend.behaveOnce([{ do: 'hold', name: 'gate' }, { do: 'echo' }, { do: 'end' }]);
    const first = client.call('first');
    await backend.untilHeld('gate');
    const calls = Array.from({ length: 30 }, () => client.call(Buffer.alloc(10_000)));
    const settled = settledOf(calls);
    const small = client.call('small');
    const refusal = await Promise.race(calls);
    expect(refusal.status).toBe(STATUS.RESOURCE_EXHAUSTED);
    await backend.release('gate');
    expect((await first).status).toBe(0);
    await small;
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    const accepted = statuses.filter((status) => status === 0).length;
    expect(accepted).toBeGreaterThan(0);
    expect(accepted).toBeLessThanOrEqual(11);
    expect(settled()).toHaveLength(30);
    // The memory is released when the calls have ended.
    const again = await Promise.all(Array.from({ length: 4 }, () => client.call(Buffer.alloc(10_000))));
    expect(again.map(({ status }) => status)).toEqual([0, 0, 0, 0]);
  });

  it('is RESOURCE_EXHAUSTED for a client of @grpc/grpc-js', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, { methods: [{ ...oneByOne, maxQueueSize: 1 }] });
    const client = grpcClient(port);
    await backend.behaveOnce([{ do: 'hold', name: 'gate' }, { do: 'echo' }, { do: 'end' }]);
    const calls = [client.call('0')];
    await backend.untilHeld('gate');
    calls.push(client.call('1'), client.call('2'));
    const refused = await Promise.race(calls);
    expect(refused.status).toBe(STATUS.RESOURCE_EXHAUSTED);
    expect(refused.trailers.get('grpc-retry-pushback-ms')).toEqual([expect.stringMatching(/^\d+$/)]);
    await backend.release('gate');
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    expect(statuses).toEqual([0, 0, STATUS.RESOURCE_EXHAUSTED]);
  });
});

it('under overload some calls are rejected and the rest get correct answers', async () => {
  const backend = await rawBackend();
  await backend.behave({ do: 'delay', ms: 5, perItemMs: 0 }, { do: 'echo' }, { do: 'end' });
  const { port } = await proxied(backend, {
    methods: [{ method: '*/Compute', maxBatchSize: 4, maxQueueSize: 50 }],
  });
  const client = rawClient(port);
  const answers = await Promise.all(Array.from({ length: 900 }, (_, index) => client.call(`${index}`)));
  for (const [index, { status, text }] of answers.entries()) {
    if (status === 0) expect(text).toBe(`${index}`);
    else expect(status).toBe(STATUS.RESOURCE_EXHAUSTED);
  }
  expect(answers.some(({ status }) => status === 0)).toBe(true);
  expect(answers.some(({ status }) => status !== 0)).toBe(true);
  expect(await client.call('after')).toMatchObject({ status: 0, text: 'after' });
});

it('a call that cannot meet its deadline is rejected at admission', async () => {
  const backend = await rawBackend();
  const clock = new HurriedClock();
  const { port } = await proxied(backend, {
    methods: [{ method: '*/Compute', maxBatchSize: 1, targetLatencyMs: 22_000 }],
    clock,
  });
  const client = rawClient(port);
  // Ten seconds each, so that delays of a busy machine do not matter.
  for (let count = 0; count < 5; count += 1) {
    await backend.behave({ do: 'hold', name: `gate ${count}` }, { do: 'echo' }, { do: 'end' });
    const call = client.call(`${count}`);
    await backend.untilHeld(`gate ${count}`);
    clock.hurry(10_000);
    await backend.release(`gate ${count}`);
    expect((await call).status).toBe(0);
  }
  const before = backend.begun;
  await backend.behaveOnce([{ do: 'hold', name: 'first of many' }, { do: 'echo' }, { do: 'end' }]);
  const calls = Array.from({ length: 40 }, () => client.call('many'));
  const settled = settledOf(calls);
  await eventually('most to be rejected', () => settled().length > 20);
  await backend.untilHeld('first of many');
  await backend.release('first of many');
  const statuses = (await Promise.all(calls)).map(({ status }) => status);
  expect(statuses).toContain(0);
  expect(statuses.filter((status) => status !== 0 && status !== STATUS.RESOURCE_EXHAUSTED)).toEqual([]);
  expect(statuses.filter((status) => status === STATUS.RESOURCE_EXHAUSTED).length).toBeGreaterThan(20);
  await backend.flushed();
  expect(backend.begun - before).toBe(statuses.filter((status) => status === 0).length);
});

describe('a message larger than allowed', () => {
  it('is rejected by its length prefix and never reaches the backend', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, { ...batchesOf(1), maxMessageBytes: 1000 });
    const client = rawClient(port);
    expect(await client.call(Buffer.alloc(1000))).toMatchObject({ status: 0 });
    const refused = await client.call(Buffer.alloc(1001));
    expect(refused.status).toBe(STATUS.RESOURCE_EXHAUSTED);
    expect(refused.message).toMatch(/1001/);
    expect(refused.message).toMatch(/1000/);
    // Only the length prefix; the stream stays open.
    const announced = client.open();
    announced.write(framed(Buffer.alloc(5000)).subarray(0, 5));
    const headers = await new Promise<Record<string, unknown>>((resolve) =>
      announced.once('response', resolve),
    );
    expect(headers['grpc-status']).toBe('8');
    expect(backend.begun).toBe(1);
    expect(await client.call('x')).toMatchObject({ status: 0 });
  });

  it('is above 4 MiB by default', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(1));
    const client = rawClient(port);
    expect((await client.call(Buffer.alloc(4 * 1024 * 1024 + 1))).status).toBe(STATUS.RESOURCE_EXHAUSTED);
    expect((await client.call(Buffer.alloc(4 * 1024 * 1024))).status).toBe(0);
  });
});
