import { expect, test } from 'vitest';
import { callHeaders } from '../src/call-headers.js';

test('what is gRPC’s own comes before metadata, which cannot take its place', () => {
  const headers = callHeaders('http', 'host:1', '/pkg.Service/Compute', {
    metadata: { authorization: 'Bearer x', te: 'other', 'x-data-bin': ['AA', 'AQ'] },
    timeoutMs: 250,
    encoding: 'gzip',
    acceptEncoding: 'gzip',
  });
  expect(headers).toMatchObject({ te: 'trailers', 'x-data-bin': ['AA', 'AQ'] });
  expect(Object.keys(headers).filter((name) => !name.startsWith(':'))).toEqual([
    'te',
    'grpc-timeout',
    'content-type',
    'user-agent',
    'grpc-encoding',
    'grpc-accept-encoding',
    'authorization',
    'x-data-bin',
  ]);
});
