/** `serveBatched()` in a real server of @grpc/grpc-js with real clients. */
import { fileURLToPath } from 'node:url';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { BatchwiseError } from 'batchwise';
import { expect, onTestFinished, test, vi } from 'vitest';
import type {
  BatchedContext,
  BatchedMethod,
  ServeBatchedOptions,
} from '../../src/serve-batched/batched-options.js';
import { serveBatched } from '../../src/serve-batched/serve-batched.js';

const file = fileURLToPath(new URL('../../../../examples/python-backend/inference.proto', import.meta.url));
const definition = loadSync(file, { defaults: true })[
  'example.Inference'
] as unknown as grpc.ServiceDefinition;
const Client = grpc.makeClientConstructor(definition, 'example.Inference');

interface Input {
  readonly features: number[];
}

interface Output {
  readonly scores: number[];
}

type Compute = BatchedMethod<Input, Output>;

async function start(
  compute: Compute,
  options: ServeBatchedOptions = {},
): Promise<InstanceType<typeof Client>> {
  const server = new grpc.Server();
  server.addService(definition, serveBatched(definition, { compute }, options));
  const port = await new Promise<number>((resolve, reject) => {
    const credentials = grpc.ServerCredentials.createInsecure();
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) => (error ? reject(error) : resolve(bound)));
  });
  const client = new Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  onTestFinished(() => {
    client.close();
    server.forceShutdown();
  });
  return client;
}

interface StreamEnd {
  readonly answers: Output[];
  readonly headers: grpc.Metadata | undefined;
  readonly status: grpc.StatusObject;
}

function ended(call: grpc.ClientDuplexStream<Input, Output>): Promise<StreamEnd> {
  const answers: Output[] = [];
  let headers: grpc.Metadata | undefined;
  call.on('data', (answer: Output) => answers.push(answer));
  call.on('metadata', (metadata) => {
    headers = metadata;
  });
  call.on('error', () => {}); // reported by the status
  return new Promise((resolve) => {
    call.on('status', (status) => resolve({ answers, headers, status }));
  });
}

function sendBatch(
  client: InstanceType<typeof Client>,
  rows: number[][],
  metadata = new grpc.Metadata(),
  options: grpc.CallOptions = {},
): Promise<StreamEnd> {
  const call = client.BatchedCompute?.(metadata, options);
  for (const features of rows) call.write({ features });
  call.end();
  return ended(call);
}

function sendOne(
  client: InstanceType<typeof Client>,
  features: number[],
): Promise<Output | grpc.ServiceError> {
  return new Promise((resolve) => {
    client.Compute?.({ features }, (error: grpc.ServiceError | null, answer: Output) =>
      resolve(error ?? answer),
    );
  });
}

const sum = (items: Input[]): Output[] =>
  items.map(({ features }) => ({ scores: [features.reduce((total, feature) => total + feature, 0)] }));

test('a stream is one call of the method, answered in order; a unary call is a batch of one', async () => {
  const sizes: number[] = [];
  const client = await start((items) => {
    sizes.push(items.length);
    return sum(items);
  });
  const rows = Array.from({ length: 300 }, (_, i) => [i, 1000]);
  const { answers, status } = await sendBatch(client, rows);
  expect(status.code).toBe(grpc.status.OK);
  expect(answers.map(({ scores }) => scores[0])).toEqual(rows.map(([i = 0]) => i + 1000));
  expect(await sendOne(client, [1, 2])).toEqual({ scores: [3] });
  expect(sizes).toEqual([300, 1]);
});

test('the method gets the metadata, the deadline and the peer', async () => {
  let seen: BatchedContext | undefined;
  const client = await start((items, context) => {
    seen = context;
    return sum(items);
  });
  const metadata = new grpc.Metadata();
  metadata.set('authorization', 'Bearer 1');
  const deadline = new Date(Date.now() + 600_000);
  await sendBatch(client, [[1]], metadata, { deadline });
  expect(seen).toMatchObject({
    path: '/example.Inference/BatchedCompute',
    peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
  });
  expect(seen?.metadata.get('authorization')).toEqual(['Bearer 1']);
  const apart = Math.abs((seen?.deadline?.getTime() ?? 0) - deadline.getTime());
  expect(apart).toBeLessThan(60_000);
  await sendBatch(client, [[1]]);
  expect(seen?.deadline).toBeUndefined();
});

test('an item error does not affect the others and is sent before the answers', async () => {
  const client = await start((items) =>
    sum(items).map((answer, i) =>
      items[i]?.features.length === 0 ? new BatchwiseError('INVALID_ITEM', 'no, features') : answer,
    ),
  );
  const { answers, headers, status } = await sendBatch(client, [[1], [], [3]]);
  expect(status.code).toBe(grpc.status.OK);
  expect(headers?.get('batchwise-item-error')).toEqual(['1 3 no%2C%20features']);
  expect(answers.map(({ scores }) => scores)).toEqual([[1], [], [3]]);
  expect(await sendOne(client, [])).toMatchObject({
    code: grpc.status.INVALID_ARGUMENT,
    details: 'no, features',
  });
});

test('the header of a thousand item errors is accepted by a client', async () => {
  const client = await start((items) => items.map(() => new Error('x'.repeat(1000))));
  const { answers, headers, status } = await sendBatch(
    client,
    Array.from({ length: 1000 }, () => [1]),
  );
  expect(status).toMatchObject({ code: grpc.status.OK });
  expect(answers.length).toBe(1000);
  expect(String(headers?.get('batchwise-item-error')[0]).split(', ').length).toBe(1000);
});

test.each<[string, Compute, ServeBatchedOptions, number, RegExp]>([
  ['too few results', () => [], {}, grpc.status.INTERNAL, /expected to return 2 results.*returned 0/],
  [
    'an error with a status',
    () => Promise.reject(Object.assign(new Error('m'), { code: 14, details: 'loading' })),
    {},
    grpc.status.UNAVAILABLE,
    /^loading$/,
  ],
  ['more than maxItems', sum, { maxItems: 1 }, grpc.status.RESOURCE_EXHAUSTED, /more than 1 items/],
  ['more than maxBytes', sum, { maxBytes: 10 }, grpc.status.RESOURCE_EXHAUSTED, /more than 10 bytes/],
  [
    'a method that exceeds its timeout',
    () => new Promise(() => {}),
    { handlerTimeoutMs: 1 },
    grpc.status.DEADLINE_EXCEEDED,
    /handlerTimeoutMs/,
  ],
  [
    'a result that is not a message',
    () => [{ scores: 'x' } as never, { scores: [1] }],
    {},
    grpc.status.INTERNAL,
    /serializing/,
  ],
  [
    'a thrown undefined',
    () => {
      throw undefined;
    },
    {},
    grpc.status.INTERNAL,
    /expected an Error.*got undefined/i,
  ],
])('%s ends with a status, and the next call is served', async (_, compute, options, code, details) => {
  let isFirst = true;
  const client = await start((items, context) => {
    const method = isFirst ? compute : sum;
    isFirst = false;
    return method(items, context);
  }, options);
  const { status, answers } = await sendBatch(client, [
    [1, 1],
    [2, 2],
  ]);
  expect(status).toMatchObject({ code, details: expect.stringMatching(details) });
  expect(answers).toEqual([]);
  expect(await sendOne(client, [5]).then((answer) => 'scores' in answer || isFirst || answer)).toBe(true);
});

// @grpc/grpc-js ends such a call itself and emits 'cancelled', as it does after every end.
test('an unserializable result fails the later items the first time, and after that only its own item', async () => {
  const ends: unknown[] = [];
  const onCancel = vi.fn();
  const client = await start(
    (items) =>
      items.map(({ features }) => (features[0] === 2 ? ({ scores: 'x' } as never) : { scores: features })),
    { onFinish: ({ status, message, failedItems }) => ends.push({ status, message, failedItems }), onCancel },
  );
  const rows = [[1], [2], [3]];
  const first = await sendBatch(client, rows);
  expect(first.status.code).toBe(grpc.status.INTERNAL);
  expect(first.answers).toEqual([{ scores: [1] }]);
  await vi.waitFor(() => expect(ends.length).toBe(1), { timeout: 300_000 });

  const second = await sendBatch(client, rows);
  expect(second.status.code).toBe(grpc.status.OK);
  expect(second.answers.map(({ scores }) => scores)).toEqual([[1], [], [3]]);
  expect(second.headers?.get('batchwise-item-error')[0]).toMatch(/^1 13 %22compute%22%20returned/);
  expect(await sendOne(client, [2])).toMatchObject({
    code: grpc.status.INTERNAL,
    details: expect.stringMatching(/"compute" returned a result for item 0 that cannot be serialized/),
  });
  await vi.waitFor(() => expect(ends.length).toBe(3), { timeout: 300_000 });
  const message = expect.stringMatching(
    /"compute" returned a result for item [01] that cannot be serialized/,
  );
  expect(ends).toEqual([
    { status: grpc.status.INTERNAL, message, failedItems: 0 },
    { status: grpc.status.OK, message: '', failedItems: 1 },
    { status: grpc.status.INTERNAL, message, failedItems: 0 },
  ]);
  expect(onCancel).not.toHaveBeenCalled();
});

test('trailing metadata of an error is sent', async () => {
  const client = await start(() => {
    const metadata = new grpc.Metadata();
    metadata.set('retry-in', '5');
    throw Object.assign(new Error('busy'), { code: grpc.status.UNAVAILABLE, metadata });
  });
  const { status } = await sendBatch(client, [[1]]);
  expect(status.metadata.get('retry-in')).toEqual(['5']);
});

test('a cancelled call aborts the signal and calls the hook once', async () => {
  const onCancel = vi.fn();
  const onFinish = vi.fn();
  let signal: AbortSignal | undefined;
  const client = await start(
    (items, context) => {
      signal = context.signal;
      const answers = items.map(() => ({ scores: [] })); // after the cancellation
      return new Promise((resolve) => context.signal.addEventListener('abort', () => resolve(answers)));
    },
    { onCancel, onFinish },
  );
  const call = client.BatchedCompute?.();
  call.write({ features: [1] });
  call.end();
  const end = ended(call);
  await vi.waitFor(() => expect(signal).toBeDefined(), { timeout: 300_000 });
  call.cancel();
  await vi.waitFor(() => expect(onCancel).toHaveBeenCalledTimes(1), { timeout: 300_000 });
  expect(signal?.reason).toMatchObject({ code: 'CANCELLED' });
  expect((await end).status.code).toBe(grpc.status.CANCELLED);
  expect(onFinish).not.toHaveBeenCalled();
});

test('an exceeded deadline aborts the signal and calls the hook once', async () => {
  const onCancel = vi.fn();
  const onFinish = vi.fn();
  const client = await start(() => new Promise(() => {}), { onCancel, onFinish });
  const metadata = new grpc.Metadata();
  // As a plain header, so that the server and not the client enforces the deadline.
  metadata.set('grpc-timeout', '1S');
  const { status } = await sendBatch(client, [[1]], metadata);
  expect(status.code).toBe(grpc.status.DEADLINE_EXCEEDED);
  await vi.waitFor(() => expect(onCancel).toHaveBeenCalledTimes(1), { timeout: 300_000 });
  expect(onFinish).not.toHaveBeenCalled();
});

test('a slow client applies backpressure and gets all answers', async () => {
  const big = Array.from({ length: 50_000 }, (_, i) => i);
  const onFinish = vi.fn();
  const client = await start((items) => items.map(() => ({ scores: big })), { onFinish });
  const call: grpc.ClientDuplexStream<Input, Output> = client.BatchedCompute?.();
  for (let i = 0; i < 200; i += 1) call.write({ features: [i] });
  call.end();
  const first = await new Promise<Output>((resolve) => call.once('data', resolve));
  call.pause();
  expect(first.scores.length).toBe(big.length);
  expect(onFinish).not.toHaveBeenCalled();
  call.resume();
  const { answers, status } = await ended(call);
  expect(status.code).toBe(grpc.status.OK);
  expect(answers.length).toBe(199);
  await vi.waitFor(() => expect(onFinish).toHaveBeenCalledTimes(1), { timeout: 300_000 });
});
