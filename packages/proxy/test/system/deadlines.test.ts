import { status as STATUS } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { HurriedClock } from '../../../redis/test/support/hurried-clock.js';
import { grpcClient } from '../support/grpc-client.js';
import { batchesOf, proxied } from '../support/proxied.js';
import { rawBackend } from '../support/raw-backend.js';
import { rawClient } from '../support/raw-client.js';
import { settledOf } from '../support/settled.js';

const UNITS: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

function millisecondsOf(timeout: string | undefined): number {
  const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(timeout ?? '') ?? [];
  if (digits === undefined || unit === undefined) throw new Error(`expected a timeout, got ${timeout}`);
  return Number(digits) * (UNITS[unit] ?? Number.NaN);
}

it('a deadline exceeded in the queue fails the call, and it never reaches the backend', async () => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, batchesOf(1));
  const client = rawClient(port);
  await backend.behaveOnce([{ do: 'hold', name: 'gate' }, { do: 'echo' }, { do: 'end' }]);
  const first = client.call('first');
  await backend.untilHeld('gate');
  const late = client.call('late', { headers: { 'grpc-timeout': '50m' } });
  const patient = client.call('patient');
  const settled = settledOf([first, late, patient]);
  expect(await late).toMatchObject({ status: STATUS.DEADLINE_EXCEEDED, messages: [] });
  expect(settled()).toEqual([1]);
  await backend.release('gate');
  expect(await first).toMatchObject({ status: 0, text: 'first' });
  expect(await patient).toMatchObject({ status: 0, text: 'patient' });
  await backend.flushed();
  expect(backend.streams.flatMap(({ texts }) => texts)).toEqual(['first', 'patient']);
});

it('a deadline exceeded on arrival fails the call, and it never reaches the backend', async () => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, batchesOf(1));
  const client = rawClient(port);
  const answer = await client.call('late', { headers: { 'grpc-timeout': '0n' } });
  expect(answer).toMatchObject({ status: STATUS.DEADLINE_EXCEEDED, messages: [] });
  expect(await client.call('next')).toMatchObject({ status: 0, text: 'next' });
  await backend.flushed();
  expect(backend.streams.flatMap(({ texts }) => texts)).toEqual(['next']);
});

it('the deadline of a batch is the latest deadline of its callers', async () => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, batchesOf(3));
  const client = rawClient(port);
  const timeouts = ['20S', '2M', '90S'];
  await Promise.all(timeouts.map((timeout) => client.call('x', { headers: { 'grpc-timeout': timeout } })));
  const { headers } = await backend.nextStream();
  const left = millisecondsOf(headers['grpc-timeout']);
  expect(left).toBeLessThanOrEqual(120_000);
  expect(left).toBeGreaterThan(90_000);
});

it('a batch has no deadline if one of its callers has none', async () => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, batchesOf(2));
  const client = rawClient(port);
  await Promise.all([client.call('x', { headers: { 'grpc-timeout': '20S' } }), client.call('y')]);
  expect((await backend.nextStream()).headers).not.toHaveProperty('grpc-timeout');
});

it('a deadline exceeded during the batch fails only that call', async () => {
  const backend = await rawBackend();
  const clock = new HurriedClock();
  const { port } = await proxied(backend, { ...batchesOf(3), clock });
  const client = rawClient(port);
  await backend.behave({ do: 'hold', name: 'gate' }, { do: 'echo' }, { do: 'end' });
  const timeouts = ['1H', '20S', '1H'];
  const calls = timeouts.map((timeout, index) =>
    client.call(`c${index}`, { headers: { 'grpc-timeout': timeout } }),
  );
  const settled = settledOf(calls);
  const id = await backend.untilHeld('gate');
  clock.hurry(20_000);
  expect(await calls[1]).toMatchObject({ status: STATUS.DEADLINE_EXCEEDED });
  expect(settled()).toEqual([1]);
  await backend.release('gate');
  expect(await calls[0]).toMatchObject({ status: 0, text: 'c0' });
  expect(await calls[2]).toMatchObject({ status: 0, text: 'c2' });
  expect(await backend.untilClosed(id)).toMatchObject({ rstCode: 0 });
});

it('a stream without answers is cancelled when the deadline of the batch is exceeded', async () => {
  const backend = await rawBackend();
  const clock = new HurriedClock();
  const { port } = await proxied(backend, { ...batchesOf(2), clock });
  const client = rawClient(port);
  await backend.behaveOnce([{ do: 'nothing' }]);
  const calls = ['10S', '15S'].map((timeout) => client.call('x', { headers: { 'grpc-timeout': timeout } }));
  const { id } = await backend.nextStream();
  clock.hurry(15_000);
  for (const { status } of await Promise.all(calls)) expect(status).toBe(STATUS.DEADLINE_EXCEEDED);
  expect(await backend.untilClosed(id)).toMatchObject({ rstCode: 8 });
  // Its slot is released.
  const next = await Promise.all([client.call('a'), client.call('b')]);
  expect(next).toMatchObject([{ status: 0 }, { status: 0 }]);
});

it('the timeout of a method applies to calls without a deadline', async () => {
  const backend = await rawBackend();
  const clock = new HurriedClock();
  const { port } = await proxied(backend, {
    methods: [{ method: '*/Compute', maxBatchSize: 1, maxWaitMs: 1000, timeoutMs: 20_000 }],
    clock,
  });
  await backend.behave({ do: 'nothing' });
  const call = rawClient(port).call('x');
  const { headers, id } = await backend.nextStream();
  expect(millisecondsOf(headers['grpc-timeout'])).toBeLessThanOrEqual(20_000);
  clock.hurry(20_000);
  expect(await call).toMatchObject({ status: STATUS.DEADLINE_EXCEEDED });
  expect(await backend.untilClosed(id)).toMatchObject({ rstCode: 8 });
});

it('an invalid deadline is rejected or ignored, and the next call is served', async () => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, batchesOf(1));
  const client = rawClient(port);
  for (const timeout of ['', 'x', '10', '123456789S', '-1S', '1.5S', '1s', ' 1S', '1S1S', 'NaNm'])
    expect((await client.call('x', { headers: { 'grpc-timeout': timeout } })).status).toBeGreaterThanOrEqual(
      0,
    );
  // The longest timeout of the protocol: longer than a timer supports.
  for (const timeout of ['99999999H', '99999999M', '99999999S'])
    expect(await client.call('x', { headers: { 'grpc-timeout': timeout } })).toMatchObject({ status: 0 });
});

it('a client of @grpc/grpc-js gets DEADLINE_EXCEEDED, and the backend sees the cancellation', async () => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, batchesOf(1));
  await backend.behave({ do: 'nothing' });
  const answer = await grpcClient(port).call('x', { deadline: Date.now() + 3000 });
  expect(answer.status).toBe(STATUS.DEADLINE_EXCEEDED);
  const { id } = await backend.nextStream();
  expect(await backend.untilClosed(id)).toMatchObject({ rstCode: 8 });
});
