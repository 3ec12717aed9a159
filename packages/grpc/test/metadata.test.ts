import { expect, test } from 'vitest';
import { metadataOf } from '../src/index.js';

test('what is not HTTP/2’s nor gRPC’s own is the application’s', () => {
  expect(
    metadataOf({
      ':path': '/a.B/C',
      ':method': 'POST',
      'content-type': 'application/grpc',
      'grpc-timeout': '1S',
      'grpc-encoding': 'gzip',
      'grpc-status-details-bin': 'AA==',
      te: 'trailers',
      'user-agent': 'x',
      connection: 'close',
      'transfer-encoding': 'chunked',
      authorization: 'Bearer t',
      'trace-bin': 'AAEC',
      'x-many': ['a', 'b'] as unknown as string,
    }),
  ).toEqual({ authorization: 'Bearer t', 'trace-bin': 'AAEC', 'x-many': ['a', 'b'] });
});
