import { compressionAlgorithms } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { grpcBackend } from '../support/grpc-backend.js';
import { grpcClient } from '../support/grpc-client.js';
import { proxied } from '../support/proxied.js';
import { rawBackend } from '../support/raw-backend.js';

const long = Buffer.from('the same again and again '.repeat(2000));

it('compressed requests and answers are forwarded unchanged, next to plain ones', async () => {
  const backend = await grpcBackend({
    options: { 'grpc.default_compression_algorithm': compressionAlgorithms.gzip },
  });
  const { port } = await proxied(backend, { methods: [{ method: '*/Compute', maxBatchSize: 8 }] });
  const clients = [
    grpcClient(port, { 'grpc.default_compression_algorithm': compressionAlgorithms.gzip }),
    grpcClient(port, { 'grpc.default_compression_algorithm': compressionAlgorithms.deflate }),
    grpcClient(port),
  ];
  const calls = Array.from({ length: 60 }, async (_, index) => {
    const message = Buffer.concat([Buffer.from(`${index} `), long]);
    const { status, message: why, answer } = (await clients[index % 3]?.call(message)) ?? {};
    expect({ status, why }).toEqual({ status: 0, why: '' });
    expect(answer?.equals(message)).toBe(true);
  });
  await Promise.all(calls);
  expect(backend.batches.reduce((sum, { size }) => sum + size, 0)).toBe(60);
  expect(Math.max(...backend.batches.map(({ size }) => size))).toBeGreaterThan(1);
});

it('messages are neither compressed nor decompressed by the proxy', async () => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, { methods: [{ method: '*/Compute', maxBatchSize: 8 }] });
  await backend.behave(
    { do: 'headers', headers: { 'grpc-encoding': 'gzip' } },
    { do: 'echo' },
    { do: 'end' },
  );
  const client = grpcClient(port, { 'grpc.default_compression_algorithm': compressionAlgorithms.gzip });
  const { status, answer } = await client.call(long);
  // The client can decompress the answer only if its encoding was declared.
  expect([status, answer?.equals(long)]).toEqual([0, true]);
  const { headers, items } = await backend.nextStream();
  expect(headers['grpc-encoding']).toBe('gzip');
  expect(items).toMatchObject([{ flag: 1 }]);
  expect(items[0]?.length).toBeLessThan(long.length / 10);
});
