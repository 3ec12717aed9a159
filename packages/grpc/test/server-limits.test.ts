import { expect, test } from 'vitest';
import { DEFAULT_SERVER_LIMITS, serverLimits } from '../src/index.js';

test('limits that are given take the place of the defaults', () => {
  expect(serverLimits({ quietMs: 0.5 })).toEqual({
    ...DEFAULT_SERVER_LIMITS,
    quietMs: 0.5,
  });
});

test.each([
  [{ maxStreams: 1 }, /limits: unknown limit maxStreams\. Known are maxMessageBytes, /],
  [{ maxConnections: 0 }, /limits\.maxConnections: expected a whole number, above 0, got 0/],
  [{ maxConcurrentStreams: 1.5 }, /maxConcurrentStreams: expected a whole number/],
  [{ maxConcurrentStreams: 2 ** 33 }, /maxConcurrentStreams: expected a whole number/],
  [{ maxHeaderBytes: '16' }, /maxHeaderBytes: expected /],
  [{ quietMs: Number.POSITIVE_INFINITY }, /quietMs: expected milliseconds, up to 2147483647/],
  [{ quietMs: Number.NaN }, /quietMs: expected /],
])('%j is refused', (limits, message) => {
  expect(() => serverLimits(limits as never)).toThrow(message);
});
