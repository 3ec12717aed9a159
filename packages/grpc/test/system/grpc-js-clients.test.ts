import { type Client, compressionAlgorithms, Metadata, status as STATUS_JS } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { shortOrLong } from '../../../../scripts/test-length.js';
import {
  GrpcError,
  GrpcServer,
  type GrpcServerOptions,
  type IncomingCall,
  isCompressed,
  messageOf,
  metadataOf,
  STATUS,
} from '../../src/index.js';
import { byteClient, unary } from '../support/byte-client.js';
import { Gate, until } from '../support/gate.js';

const open: { server?: GrpcServer; clients: Client[] } = { clients: [] };

afterEach(async () => {
  for (const client of open.clients.splice(0)) client.close();
  open.server?.destroy();
  await open.server?.close();
});

async function serve(
  onCall: (call: IncomingCall) => void,
  options: Partial<GrpcServerOptions> = {},
): Promise<(clientOptions?: object) => Client> {
  const server = new GrpcServer({ onCall, ...options });
  open.server = server;
  const { port } = await server.listen({ host: 'localhost', port: 0 });
  return (clientOptions) => {
    const client = byteClient(port, clientOptions);
    open.clients.push(client);
    return client;
  };
}

const echo = (call: IncomingCall) => call.readUnary((frame) => call.answer(frame));

test('messages of any size come back byte for byte, to the right caller', async () => {
  const client = (await serve(echo))();
  const size = fc.oneof(fc.nat(100), fc.integer({ min: 16_000, max: 17_000 }), fc.nat(4 * 1024 * 1024));
  await fc.assert(
    fc.asyncProperty(fc.array(size, { minLength: 1, maxLength: 8 }), async (sizes) => {
      const messages = sizes.map((bytes, i) => Buffer.alloc(bytes, `${i}-${bytes}.`));
      const outcomes = await Promise.all(messages.map((message) => unary(client, '/a.B/Echo', message)));
      for (const [i, { error, answer }] of outcomes.entries()) {
        expect(error).toBeNull();
        expect(answer?.equals(messages[i] as Buffer)).toBe(true);
      }
    }),
    { numRuns: 15 },
  );
});

test('metadata passes both ways, binary and repeated too', async () => {
  let received: ReturnType<typeof metadataOf> = {};
  const client = (
    await serve((call) => {
      received = metadataOf(call.headers);
      call.readUnary((frame) =>
        call.answer(
          frame,
          { 'x-head': 'h', 'head-bin': 'AAEC' },
          { 'x-tail': ['1', '2'], 'tail-bin': '/w==' },
        ),
      );
    })
  )();
  const metadata = new Metadata();
  metadata.set('x-plain', 'value');
  metadata.set('trace-bin', Buffer.from([0, 1, 2]));
  const { error, headers, status } = await unary(client, '/a.B/C', Buffer.from('m'), { metadata });
  expect(error).toBeNull();
  expect(received).toMatchObject({ 'x-plain': 'value', 'trace-bin': 'AAEC' });
  expect(headers?.get('x-head')).toEqual(['h']);
  expect(headers?.get('head-bin')).toEqual([Buffer.from([0, 1, 2])]);
  expect(status?.metadata.get('x-tail').join(', ')).toBe('1, 2');
  expect(status?.metadata.get('tail-bin')).toEqual([Buffer.from([255])]);
});

test('an error carries its status, its message in any script, and its details', async () => {
  const client = (
    await serve((call) =>
      call.fail(
        new GrpcError(STATUS.FAILED_PRECONDITION, 'größer als 100 % ☂\n', {
          trailers: { 'grpc-status-details-bin': 'CAk=', 'x-why': 'because' },
        }),
      ),
    )
  )();
  const { error, status } = await unary(client, '/a.B/C', Buffer.from('m'));
  expect(error?.code).toBe(STATUS_JS.FAILED_PRECONDITION);
  expect(error?.details).toBe('größer als 100 % ☂\n');
  expect(status?.metadata.get('grpc-status-details-bin')).toEqual([Buffer.from([8, 9])]);
  expect(status?.metadata.get('x-why')).toEqual(['because']);
});

test('an error that is told before the request has come does not wait for it', async () => {
  const client = (await serve((call) => call.fail(new GrpcError(STATUS.UNAUTHENTICATED, 'who?'))))();
  const outcomes = await Promise.all(
    Array.from({ length: 5 }, () => unary(client, '/a.B/C', Buffer.alloc(4 * 1024 * 1024))),
  );
  for (const { error } of outcomes) expect(error?.code).toBe(STATUS_JS.UNAUTHENTICATED);
  await until(() => open.server?.openCalls === 0);
});

test('a message that is too large is RESOURCE_EXHAUSTED, and the connection lives on', async () => {
  const client = (await serve(echo, { limits: { maxMessageBytes: 1000 } }))();
  const [large, small] = await Promise.all([
    unary(client, '/a.B/C', Buffer.alloc(1_000_000)),
    unary(client, '/a.B/C', Buffer.alloc(1000)),
  ]);
  expect(large.error?.code).toBe(STATUS_JS.RESOURCE_EXHAUSTED);
  expect(large.error?.details).toContain('at most 1000 bytes, got 1000000');
  expect(small.error).toBeNull();
  expect(open.server?.openConnections).toBe(1);
});

test('a compressed message is passed on with its flag, not looked into', async () => {
  let wasCompressed = false;
  let encoding: unknown;
  const client = (
    await serve((call) =>
      call.readUnary((frame) => {
        wasCompressed = isCompressed(frame);
        encoding = call.headers['grpc-encoding'];
        call.answer(frame, { 'grpc-encoding': 'gzip' });
      }),
    )
  )({ 'grpc.default_compression_algorithm': compressionAlgorithms.gzip });
  const message = Buffer.alloc(10_000, 'abc');
  const { error, answer } = await unary(client, '/a.B/C', message);
  expect(error).toBeNull();
  expect(wasCompressed).toBe(true);
  expect(encoding).toBe('gzip');
  expect(answer?.equals(message)).toBe(true);
});

test('the deadline of the caller is told, and its passing too', async () => {
  const gone = new Gate();
  let timeoutMs: number | undefined;
  const client = (
    await serve((call) => {
      timeoutMs = call.timeoutMs;
      call.onGone(() => gone.open());
      call.readUnary(() => {});
    })
  )();
  const { error } = await unary(client, '/a.B/C', Buffer.from('m'), {
    deadline: new Date(Date.now() + 2000),
  });
  expect(error?.code).toBe(STATUS_JS.DEADLINE_EXCEEDED);
  await gone.opened;
  expect(timeoutMs).toBeGreaterThan(0);
  expect(timeoutMs).toBeLessThanOrEqual(2000);
});

test('a caller that cancels is gone, told once, and what is answered then is nobody’s', async () => {
  const arrived = new Gate<IncomingCall>();
  const gone = new Gate();
  let told = 0;
  const client = (
    await serve((call) => {
      call.onGone(() => {
        told++;
        gone.open();
      });
      call.readUnary((frame) => {
        if (messageOf(frame).toString() === 'wait') arrived.open(call);
        else call.answer(frame);
      });
    })
  )();
  let cancel = () => {};
  const outcome = unary(client, '/a.B/C', Buffer.from('wait'), {
    onCall: (call) => {
      cancel = () => call.cancel();
    },
  });
  const call = await arrived.opened;
  cancel();
  expect((await outcome).error?.code).toBe(STATUS_JS.CANCELLED);
  await gone.opened;
  call.answer(Buffer.alloc(5));
  call.fail(new GrpcError(STATUS.INTERNAL, 'too late'));
  expect((await unary(client, '/a.B/C', Buffer.from('next'))).answer?.toString()).toBe('next');
  expect(told).toBe(1);
  await until(() => open.server?.openCalls === 0);
});

test('only the first of two answers counts', async () => {
  const client = (
    await serve((call) =>
      call.readUnary((frame) => {
        call.answer(frame);
        call.answer(Buffer.from([0, 0, 0, 0, 0]));
        call.fail(new GrpcError(STATUS.INTERNAL, 'no'));
      }),
    )
  )();
  const { error, answer } = await unary(client, '/a.B/C', Buffer.from('first'));
  expect(error).toBeNull();
  expect(answer?.toString()).toBe('first');
});

test('metadata that cannot be sent is an error for that caller only', async () => {
  const client = (
    await serve((call) =>
      call.readUnary((frame) => {
        const text = messageOf(frame).toString();
        if (text === 'headers') call.answer(frame, { connection: 'close' });
        else if (text === 'trailers') call.answer(frame, {}, { ':bad': 'x' });
        else if (text === 'error')
          call.fail(new GrpcError(STATUS.ABORTED, 'm', { trailers: { 'a b': 'x' } }));
        else call.answer(frame);
      }),
    )
  )();
  const outcomes = await Promise.all(
    ['headers', 'trailers', 'error', 'fine'].map((text) => unary(client, '/a.B/C', Buffer.from(text))),
  );
  expect(outcomes.map(({ error }) => error?.code)).toEqual([13, 13, 13, undefined]);
  expect(outcomes[0]?.error?.details).toContain('cannot be sent');
});

test('a handler that throws fails its call', async () => {
  const lines: string[] = [];
  const client = (
    await serve(
      (call) => {
        if (call.path === '/a.B/Throw') throw new Error('a bug');
        echo(call);
      },
      { log: (line) => lines.push(line) },
    )
  )();
  expect((await unary(client, '/a.B/Throw', Buffer.from('m'))).error?.code).toBe(STATUS_JS.INTERNAL);
  expect((await unary(client, '/a.B/C', Buffer.from('m'))).error).toBeNull();
  expect(lines.join()).toContain('a bug');
});

test('close lets open calls end, new connections are refused', async () => {
  const arrived = new Gate();
  const released = new Gate();
  const connect = await serve((call) =>
    call.readUnary(async (frame) => {
      arrived.open();
      await released.opened;
      call.answer(frame);
    }),
  );
  const outcome = unary(connect(), '/a.B/C', Buffer.from('m'));
  await arrived.opened;
  const closed = open.server?.close();
  const refused = await unary(connect(), '/a.B/C', Buffer.from('m'));
  expect(refused.error?.code).toBe(STATUS_JS.UNAVAILABLE);
  released.open();
  expect((await outcome).answer?.toString()).toBe('m');
  await closed;
  expect(open.server?.openConnections).toBe(0);
});

test('close ends what does not end within its time', async () => {
  const arrived = new Gate();
  const gone = new Gate();
  const client = (
    await serve((call) => {
      call.onGone(() => gone.open());
      call.readUnary(() => arrived.open());
    })
  )();
  const outcome = unary(client, '/a.B/C', Buffer.from('m'));
  await arrived.opened;
  await open.server?.close({ timeoutMs: 50 });
  expect((await outcome).error?.code).toBe(STATUS_JS.UNAVAILABLE);
  await gone.opened;
});

test('a port in use is a clear error', async () => {
  const first = new GrpcServer({ onCall: echo });
  const { port } = await first.listen({ host: '127.0.0.1', port: 0 });
  const second = new GrpcServer({ onCall: echo });
  await expect(second.listen({ host: '127.0.0.1', port })).rejects.toThrow(
    `port ${port} of 127.0.0.1 is already in use`,
  );
  first.destroy();
  second.destroy();
});

test('many calls at a time are all answered', async () => {
  const client = (await serve(echo))();
  const outcomes = await Promise.all(
    Array.from({ length: shortOrLong(2000, 10_000) }, (_, i) =>
      unary(client, '/a.B/C', Buffer.from(String(i))),
    ),
  );
  for (const [i, { answer }] of outcomes.entries()) expect(answer?.toString()).toBe(String(i));
});
