import { constants } from 'node:http2';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { shortOrLong } from '../../../../scripts/test-length.js';
import { grpcBackend } from '../support/grpc-backend.js';
import { grpcClient } from '../support/grpc-client.js';
import { proxied } from '../support/proxied.js';
import { randomBytesOf } from '../support/random-bytes.js';
import { rawBackend } from '../support/raw-backend.js';
import { rawClient } from '../support/raw-client.js';

const MiB = 1024 * 1024;
/** Around the maximum length of an HTTP/2 frame and the sizes of the flow-control windows. */
const edges = [0, 1, 16_379, 16_380, 16_384, 65_530, 65_531, 65_535, 65_536, MiB, 4 * MiB];

const size = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 300 }) },
  { weight: 4, arbitrary: fc.constantFrom(...edges) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 200_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 4 * MiB }) },
);
const cuts = fc.array(
  fc.oneof(fc.integer({ min: 1, max: 12 }), fc.double({ min: 0, max: 0.999, noNaN: true })),
  { maxLength: 6 },
);
const calls = fc.array(fc.record({ size, cuts, seed: fc.nat() }), { minLength: 1, maxLength: 20 });

it('messages of any size, in any chunks, come back unchanged to the right caller', async () => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, { methods: [{ method: '*/Compute', maxBatchSize: 8 }] });
  const plain = rawClient(port);
  const padding = rawClient(port, { paddingStrategy: constants.PADDING_STRATEGY_MAX });
  await fc.assert(
    fc.asyncProperty(calls, cuts, async (sent, answerCuts) => {
      await backend.behave({ do: 'echo', cuts: answerCuts }, { do: 'end' });
      await Promise.all(
        sent.map(async ({ size, cuts, seed }, index) => {
          const message = randomBytesOf(seed * 100 + index, size);
          const client = index % 3 === 2 ? padding : plain;
          const { status, message: why, messages } = await client.call(message, { cuts });
          expect({ status, why, count: messages.length }).toEqual({ status: 0, why: '', count: 1 });
          expect(messages[0]?.equals(message)).toBe(true);
        }),
      );
    }),
    { numRuns: shortOrLong(12, 500) },
  );
  await backend.flushed();
  const sizes = backend.streams.map(({ items }) => items.length);
  expect(Math.max(...sizes)).toBeGreaterThan(1);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(8);
});

it('the same with a client and a backend of @grpc/grpc-js', async () => {
  const backend = await grpcBackend();
  const { port } = await proxied(backend, { methods: [{ method: '*/Compute', maxBatchSize: 8 }] });
  const client = grpcClient(port);
  await fc.assert(
    fc.asyncProperty(calls, async (sent) => {
      await Promise.all(
        sent.map(async ({ size, seed }, index) => {
          const message = randomBytesOf(seed * 100 + index, size);
          const { status, message: why, answer } = await client.call(message);
          expect({ status, why }).toEqual({ status: 0, why: '' });
          expect(answer?.equals(message)).toBe(true);
        }),
      );
    }),
    { numRuns: shortOrLong(5, 200) },
  );
  expect(Math.max(...backend.batches.map((batch) => batch.size))).toBeGreaterThan(1);
  expect(backend.countOf('unary')).toBe(0);
});

it('many concurrent callers each get their own answer', async () => {
  const callers = shortOrLong(2000, 10_000);
  const backend = await rawBackend();
  const { port, proxy } = await proxied(backend, {
    methods: [{ method: '*/Compute', maxBatchSize: 64, maxQueueSize: callers }],
  });
  const clients = Array.from({ length: 20 }, () => rawClient(port));
  const answers = await Promise.all(
    Array.from({ length: callers }, async (_, index) => {
      const { status, text } = (await clients[index % clients.length]?.call(`caller ${index}`)) ?? {};
      return { status, text };
    }),
  );
  expect(answers).toEqual(answers.map((_, index) => ({ status: 0, text: `caller ${index}` })));
  await backend.flushed();
  expect(backend.streams.flatMap(({ texts }) => texts)).toHaveLength(callers);
  expect(proxy.stats()).toBeDefined();
});
