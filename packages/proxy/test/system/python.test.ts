/** Against Python's grpcio, which has its own HTTP/2: as client, as backend, and as both. */
import { status as STATUS } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { batchesOf, proxied } from '../support/proxied.js';
import { pythonBackend, pythonCalls } from '../support/python-peer.js';
import { randomBytesOf } from '../support/random-bytes.js';
import { rawBackend } from '../support/raw-backend.js';

it('a client and a backend of grpcio: every caller gets its own answer, and the backend gets batches', async () => {
  const backend = await pythonBackend();
  const { port } = await proxied(backend, { methods: [{ method: '*/Compute', maxBatchSize: 16 }] });
  const messages = Array.from({ length: 300 }, (_, index) => randomBytesOf(index, (index * 997) % 70_000));
  const answers = await pythonCalls(
    port,
    messages.map((message) => ({ message })),
  );
  expect(answers.filter(({ status }) => status !== 0)).toEqual([]);
  const right = answers.filter(({ answer }, index) => answer?.equals(messages[index] as Buffer));
  expect(right).toHaveLength(messages.length);
  expect(backend.batches.reduce((sum, { size }) => sum + size, 0)).toBe(messages.length);
  expect(Math.max(...backend.batches.map(({ size }) => size))).toBeGreaterThan(1);
});

it('metadata, deadlines and compression with client and backend of grpcio', async () => {
  const backend = await pythonBackend();
  const { port } = await proxied(backend, { methods: [{ method: '*/Compute', maxBatchSize: 1 }] });
  const message = Buffer.from('the same again and again '.repeat(1000));
  const [plain, compressed] = await pythonCalls(port, [
    {
      message,
      metadata: { 'x-text': 'some text' },
      binary: { 'x-data-bin': Buffer.from([0, 255, 1]) },
      timeout: 60,
    },
    { message, gzip: true },
  ]);
  expect(plain).toMatchObject({ status: 0, answer: message });
  expect(compressed).toMatchObject({ status: 0, answer: message });
  const withMetadata = backend.batches.find(({ metadata }) => metadata['x-text'] === 'some text');
  expect(withMetadata).toMatchObject({
    hasDeadline: true,
    metadata: { 'x-data-bin': Buffer.from([0, 255, 1]).toString('base64') },
  });
});

it('an error of a grpcio backend after some answers fails the rest with its details', async () => {
  const backend = await pythonBackend();
  const { port } = await proxied(backend, batchesOf(3));
  const answers = await pythonCalls(
    port,
    ['first', 'fail from here', 'third'].map((text) => ({ message: Buffer.from(text) })),
  );
  const failed = answers.filter(({ status }) => status !== 0);
  expect(failed.length).toBeGreaterThanOrEqual(1);
  for (const { status, message, trailers } of failed) {
    expect({ status, message }).toEqual({
      status: STATUS.FAILED_PRECONDITION,
      message: 'so wünscht es der Server',
    });
    expect(trailers['grpc-status-details-bin']).toBe(Buffer.from('details\0').toString('base64'));
  }
  expect(answers.find(({ answer }) => String(answer) === 'fail from here')).toBeUndefined();
});

it('a client of grpcio gets the status of a deadline, a full queue and a missing backend', async () => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, {
    methods: [{ method: '*/Compute', maxBatchSize: 1, maxWaitMs: 1000, maxQueueSize: 1 }],
  });
  await backend.behave({ do: 'nothing' });
  const message = Buffer.from('x');
  const late = await pythonCalls(port, [
    { message, timeout: 5 },
    { message, timeout: 5 },
    { message, timeout: 5 },
  ]);
  const statuses = late.map(({ status }) => status).sort();
  expect(statuses).toEqual([STATUS.DEADLINE_EXCEEDED, STATUS.DEADLINE_EXCEEDED, STATUS.RESOURCE_EXHAUSTED]);
  await backend.kill();
  const [gone] = await pythonCalls(port, [{ message, timeout: 20 }]);
  expect(gone?.status).toBe(STATUS.UNAVAILABLE);
});
