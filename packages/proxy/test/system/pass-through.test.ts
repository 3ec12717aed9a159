import { type ClientDuplexStream, Metadata, status as STATUS } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../../redis/test/support/eventually.js';
import { HurriedClock } from '../../../redis/test/support/hurried-clock.js';
import { bareBackend } from '../support/bare-backend.js';
import { grpcBackend } from '../support/grpc-backend.js';
import { type GrpcClient, grpcClient, identity } from '../support/grpc-client.js';
import { batchesOf, proxied } from '../support/proxied.js';
import { randomBytesOf } from '../support/random-bytes.js';
import { rawBackend, type Step } from '../support/raw-backend.js';
import { answerOf, rawClient } from '../support/raw-client.js';

async function setting() {
  const backend = await grpcBackend();
  const { port } = await proxied(backend);
  return { backend, client: grpcClient(port), port };
}

function chat({ client }: GrpcClient, path = '/test.Echo/Chat'): ClientDuplexStream<Buffer, Buffer> {
  const stream = client.makeBidiStreamRequest(path, identity, identity, new Metadata(), {});
  stream.on('error', () => {});
  return stream;
}

function statusOf(
  stream: NodeJS.EventEmitter,
): Promise<{ code: number; details: string; metadata: Metadata }> {
  return new Promise((resolve) => stream.once('status', resolve));
}

describe('a method that is not batched is passed through', () => {
  it('with one message each way, metadata and trailers', async () => {
    const { backend, client } = await setting();
    const answer = await client.call('hello', {
      path: '/test.Echo/Other',
      metadata: { 'x-text': 'here', 'x-data-bin': Buffer.from([0, 255]) },
    });
    expect([answer.status, String(answer.answer)]).toEqual([0, 'hello']);
    expect(answer.headers.get('header-back')).toEqual(['yes']);
    expect(answer.trailers.get('trailer-back-bin')).toEqual([Buffer.from([0, 255, 10])]);
    const seen = await backend.until<{ type: string; metadata: Record<string, unknown[]> }>('unary');
    expect(seen.metadata['x-text']).toEqual(['here']);
    expect(JSON.stringify(seen.metadata['x-data-bin'])).toContain('[0,255]');
  });

  it('with a status, its message and details', async () => {
    const { client } = await setting();
    const answer = await client.call('hello', { path: '/test.Echo/Fail' });
    expect(answer).toMatchObject({ status: STATUS.FAILED_PRECONDITION, message: 'not todäy' });
    expect(answer.trailers.get('grpc-status-details-bin')).toEqual([Buffer.from('the details')]);
  });

  it('and an unknown one is UNIMPLEMENTED', async () => {
    const { client } = await setting();
    expect(await client.call('x', { path: '/test.Unknown/Method' })).toMatchObject({
      status: STATUS.UNIMPLEMENTED,
    });
  });

  it('with a request stream', async () => {
    const { client } = await setting();
    const pieces = Array.from({ length: 20 }, (_, index) => randomBytesOf(index, index * 5000));
    const answer = await new Promise<Buffer | undefined>((resolve) => {
      const stream = client.client.makeClientStreamRequest<Buffer, Buffer>(
        '/test.Echo/Collect',
        identity,
        identity,
        new Metadata(),
        {},
        (_error, received) => resolve(received),
      );
      for (const piece of pieces) stream.write(piece);
      stream.end();
    });
    expect(answer?.equals(Buffer.concat(pieces))).toBe(true);
  });

  it('with a response stream', async () => {
    const { client } = await setting();
    const body = randomBytesOf(1, 50_000);
    const stream = client.client.makeServerStreamRequest<Buffer, Buffer>(
      '/test.Echo/Repeat',
      identity,
      identity,
      Buffer.concat([Buffer.of(200), body]),
    );
    let count = 0;
    for await (const piece of stream) {
      expect((piece as Buffer).equals(body)).toBe(true);
      count += 1;
    }
    expect(count).toBe(200);
  });

  it('with messages in both directions without delay', async () => {
    const { client } = await setting();
    const stream = chat(client);
    const status = statusOf(stream);
    for (const word of ['one', 'two', 'three']) {
      const answer = new Promise((resolve) => stream.once('data', resolve));
      stream.write(Buffer.from(word));
      expect(String(await answer)).toBe(word);
    }
    stream.end();
    expect((await status).code).toBe(STATUS.OK);
  });

  it('and the backend sees a cancellation of the caller', async () => {
    const { backend, client } = await setting();
    const stream = chat(client);
    const answer = new Promise((resolve) => stream.once('data', resolve));
    stream.write(Buffer.from('one'));
    await answer;
    stream.cancel();
    await backend.until('chat cancelled');
  });

  it('and the caller gets a status when the backend dies', async () => {
    const { backend, client } = await setting();
    const stream = chat(client);
    const status = statusOf(stream);
    const answer = new Promise((resolve) => stream.once('data', resolve));
    stream.write(Buffer.from('one'));
    await answer;
    await backend.kill();
    expect((await status).code).toBe(STATUS.UNAVAILABLE);
  });

  it('with its deadline', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(1));
    await backend.behave({ do: 'nothing' });
    const { answer } = grpcClient(port).begin('x', { path: '/test.Echo/Slow', deadline: Date.now() + 3000 });
    const { headers, id } = await backend.nextStream();
    expect(headers['grpc-timeout']).toMatch(/^\d+[mun]$/);
    expect((await answer).status).toBe(STATUS.DEADLINE_EXCEEDED);
    expect(await backend.untilClosed(id)).toMatchObject({ rstCode: 8 });
  });

  it('with resets, early ends and plain HTTP answers of the backend', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, { ...batchesOf(1), ejection: false });
    const client = rawClient(port);
    const path = '/test.Echo/Other';
    await backend.behaveOnce(
      [{ do: 'reset', code: 2 }],
      [{ do: 'echo' }, { do: 'reset', code: 2 }],
      [{ do: 'trailers only', status: 5, message: 'none' }],
      [{ do: 'end', status: 6, message: 'headers, and no message' }],
      [{ do: 'http', status: 503 }],
      [{ do: 'destroy' }],
    );
    const reset = await client.call('x', { path });
    expect(reset.status === STATUS.INTERNAL || reset.rstCode === 2).toBe(true);
    const late = await client.call('x', { path });
    expect(late.status === STATUS.INTERNAL || late.rstCode === 2).toBe(true);
    expect(await client.call('x', { path })).toMatchObject({ status: 5, message: 'none' });
    expect(await client.call('x', { path })).toMatchObject({ status: 6, message: 'headers, and no message' });
    expect((await grpcClient(port).call('x', { path })).status).toBe(STATUS.UNAVAILABLE);
    const gone = await client.call('x', { path });
    expect(gone.status === STATUS.UNAVAILABLE || gone.rstCode > 0).toBe(true);
    expect(await client.call('x', { path })).toMatchObject({ status: 0, text: 'x' });
  });

  it('for example reflection', async () => {
    const { client } = await setting();
    const stream = chat(client, '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo');
    const answer = new Promise((resolve) => stream.once('data', resolve));
    // list_services, field 7, an empty string.
    stream.write(Buffer.from([0x3a, 0]));
    expect(String(await answer)).toContain('test.Echo');
    stream.end();
  });
});

// Root cause: a request that was piped to a lost backend stayed paused, and its stream never closed. It stayed in memory
// as long as the connection of its caller.
it('a call whose backend is lost during the request is released', async () => {
  const backend = await rawBackend();
  const { port, proxy } = await proxied(backend, { ...batchesOf(1), ejection: false });
  const client = rawClient(port);
  const endings: readonly Step[] = [
    { do: 'destroy' },
    { do: 'reset', code: 2 },
    { do: 'trailers only', status: 9 },
  ];
  for (const ending of endings) {
    await backend.behave({ do: 'at once' }, ending);
    for (let count = 0; count < 5; count += 1) {
      const { status } = await client.call(Buffer.alloc(300_000), { path: '/test.Echo/Other' });
      expect(status).toBeGreaterThan(0);
    }
  }
  await eventually('no call to be open', () => proxy.stats().openCalls === 0);
});

// grpc-go's server resets a call with CANCEL when its deadline is exceeded, possibly before the caller notices.
it('a call that the backend resets after the deadline is DEADLINE_EXCEEDED', async () => {
  const backend = await rawBackend();
  const clock = new HurriedClock();
  const { port } = await proxied(backend, { ...batchesOf(1), clock });
  const client = rawClient(port);
  await backend.behave({ do: 'nothing' });
  const late = async (sooner: boolean) => {
    const answer = client.call('x', { path: '/test.Echo/Other', headers: { 'grpc-timeout': '10S' } });
    const { id } = await backend.nextStream();
    if (!sooner) clock.hurry(10_000);
    await backend.perform(id, { do: 'reset', code: 8 });
    return (await answer).status;
  };
  expect(await late(true)).toBe(STATUS.CANCELLED);
  expect(await late(false)).toBe(STATUS.DEADLINE_EXCEEDED);
});

// Root cause: a stream refused by a backend became UNAVAILABLE, which clients do not retry by default. Clients may retry
// after a reset with REFUSED_STREAM (RFC 9113, 8.7).
it.each<[string, Step]>([
  ['refuses', { do: 'reset', code: 7 }],
  ['excludes by GOAWAY', { do: 'goaway', last: 'before' }],
])('a call that the backend %s is retried by its client', async (_how, step) => {
  const backend = await rawBackend();
  const { port, proxy } = await proxied(backend, { ...batchesOf(1), ejection: false });
  // No stream precedes the first stream of a connection.
  const first = () => rawClient(port).call('x', { path: '/test.Echo/Other' });
  await first();
  await backend.behaveOnce([step]);
  expect(await rawClient(port).call('x', { path: '/test.Echo/Other' })).toMatchObject({ rstCode: 7 });
  await first();
  await backend.behaveOnce([step]);
  const client = grpcClient(port, { 'grpc.enable_retries': 1 });
  const { status, answer } = await client.call('x', { path: '/test.Echo/Other' });
  expect([status, String(answer)]).toEqual([0, 'x']);
  expect(proxy.stats()).toMatchObject({ passedThrough: 5 });
});

it('an unread stream applies backpressure to the backend', async () => {
  const { backend, port } = await setting();
  const client = rawClient(port, { settings: { initialWindowSize: 1000 } });
  const body = Buffer.concat([Buffer.of(0, 0, 1, 0, 1, 100), Buffer.alloc(65_536)]);
  const stream = client.open({}, '/test.Echo/Repeat');
  stream.end(body);
  await new Promise((resolve) => stream.once('response', resolve));
  stream.pause();
  const other = grpcClient(port);
  for (let count = 0; count < 20; count += 1) expect((await other.call('x')).status).toBe(0);
  const answer = answerOf(stream);
  stream.resume();
  expect((await answer).messages).toHaveLength(100);
  expect(backend.countOf('batch')).toBe(20);
});

describe('health', () => {
  const path = '/grpc.health.v1.Health/Check';

  it('is answered by the proxy', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, { health: 'answer' });
    const { status, answer } = await grpcClient(port).call('', { path });
    expect([status, answer]).toEqual([0, Buffer.from([8, 1])]);
  });

  it('or passed to the backend if so configured', async () => {
    const backend = await rawBackend();
    await backend.setHealth('not serving');
    const { port } = await proxied(backend, { health: 'pass', healthCheck: false });
    const { status, answer } = await grpcClient(port).call('', { path });
    expect([status, answer]).toEqual([0, Buffer.from([8, 2])]);
  });
});

// Root cause: Node throws when it sends headers that it would not accept. Thrown in a stream event, that ended the process.
describe('headers that Node does not send', () => {
  const head = { ':status': '200', 'content-type': 'application/grpc' };
  const path = '/test.Echo/Other';

  it('that belong to the connection are removed', async () => {
    const ofConnection = { 'http2-settings': 'x' };
    for (const backend of [
      await bareBackend({ ...head, ...ofConnection, 'grpc-status': '5', 'x-mine': 'a' }),
      await bareBackend({ ...head, 'x-mine': 'a' }, { ...ofConnection, 'grpc-status': '5' }),
    ]) {
      const { port } = await proxied(backend, batchesOf(1));
      const { status, headers, trailers } = await rawClient(port).call('x', { path });
      expect([status, headers['x-mine'], headers['http2-settings'], trailers['http2-settings']]).toEqual([
        5,
        'a',
        undefined,
        undefined,
      ]);
    }
  });

  it.each([
    ['an HTTP status that is none', { ...head, ':status': '999', 'grpc-status': '0' }, undefined],
    ['binary metadata that is no base64', { ...head, 'x-a-bin': '!!!', 'grpc-status': '0' }, undefined],
    ['such trailers', head, { 'x-a-bin': '!!!', 'grpc-status': '0' }],
  ])('%s fails that call', async (_what, headers, trailers) => {
    const backend = await bareBackend(headers, trailers);
    const { port, proxy, log } = await proxied(backend, batchesOf(1));
    const client = rawClient(port);
    for (let count = 0; count < 2; count += 1) {
      expect(await client.call('x', { path })).toMatchObject({
        status: STATUS.INTERNAL,
        message: 'The backend did not answer as expected.',
      });
    }
    const line = `backend ${backend.target} answered ${path} with invalid headers`;
    expect(log.filter((one) => one.startsWith(line))).toHaveLength(2);
    await eventually('no call to be open', () => proxy.stats().openCalls === 0);
  });

  it.each([
    [204, STATUS.UNKNOWN],
    [503, STATUS.UNAVAILABLE],
  ])('HTTP status %i without a gRPC status has one for the caller', async (httpStatus, status) => {
    const backend = await bareBackend({ ':status': String(httpStatus) });
    const { port } = await proxied(backend, batchesOf(1));
    expect((await rawClient(port).call('x', { path })).status).toBe(status);
  });
});

it('an answer that is passed through has no added date header', async () => {
  const backend = await bareBackend({
    ':status': '200',
    'content-type': 'application/grpc',
    'grpc-status': '5',
  });
  const { port } = await proxied(backend, batchesOf(1));
  const { headers } = await rawClient(port).call('x', { path: '/test.Echo/Other' });
  expect(headers).not.toHaveProperty('date');
});

it('the log names each method that is passed through once, up to ten', async () => {
  const backend = await rawBackend();
  const { port, log } = await proxied(backend, batchesOf(1));
  const client = rawClient(port);
  for (let round = 0; round < 2; round += 1)
    for (let count = 0; count < 12; count += 1) await client.call('x', { path: `/test.Echo/Other${count}` });
  const named = log.filter((line) => line.includes('passed through'));
  expect(named).toHaveLength(10);
  expect(named[0]).toBe('/test.Echo/Other0 is passed through without batching; batched methods: */Compute');
});
