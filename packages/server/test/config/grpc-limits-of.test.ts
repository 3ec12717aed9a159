import { expect, test } from 'vitest';
import { grpcLimitsOf } from '../../src/config/grpc-limits-of.js';
import { loadConfig } from '../../src/config/load-config.js';
import { validGrpcLimits } from '../../src/grpc/grpc-limits.js';

const limitsOf = (env: Record<string, string>) => {
  const named = Object.entries(env).map(([key, value]) => [`BATCHWISE__SERVER__LIMITS__${key}`, value]);
  return validGrpcLimits(grpcLimitsOf(loadConfig({ env: Object.fromEntries(named) }).settings.server.limits));
};

test('the limits of the server hold for gRPC too', () => {
  expect(
    limitsOf({
      BODY_BYTES: '1MiB',
      CONNECTIONS: '7',
      IN_FLIGHT: '8',
      RECEIVE_TIMEOUT: '20s',
      REQUEST_TIMEOUT: '30s',
    }),
  ).toMatchObject({
    messageBytes: 2 ** 20,
    connections: 7,
    inFlight: 8,
    receiveTimeoutMs: 20_000,
    requestTimeoutMs: 30_000,
  });
});

test('those that are unlimited are none', () => {
  const none = { CONNECTIONS: 'unlimited', IN_FLIGHT: 'unlimited', REQUEST_TIMEOUT: 'unlimited' };
  expect(limitsOf(none)).toMatchObject({ connections: 0, inFlight: 0, requestTimeoutMs: 0 });
});

test('the largest body that can be allowed is the largest message that there can be', () => {
  expect(limitsOf({ BODY_BYTES: '2GiB', UNANSWERED_BYTES: '4GiB' }).messageBytes).toBe(2 ** 31 - 1);
});
