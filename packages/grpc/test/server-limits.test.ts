import { expect, test } from 'vitest';
import { DEFAULT_SERVER_LIMITS, serverLimits } from '../src/index.js';

test('limits that are given take the place of the defaults', () => {
  expect(serverLimits({ quietMs: 0.5 })).toEqual({
    ...DEFAULT_SERVER_LIMITS,
    quietMs: 0.5,
  });
});

test.each([
  [{ maxStreams: 1 }, /limits\.maxStreams is not known; expected one of maxMessageBytes, /],
  [{ maxConnections: 0 }, /limits\.maxConnections is expected to be a whole number, above 0, but 0 came/],
  [{ maxConcurrentStreams: 1.5 }, /maxConcurrentStreams is expected to be a whole number/],
  [{ maxConcurrentStreams: 2 ** 33 }, /maxConcurrentStreams is expected to be a whole number/],
  [{ maxHeaderBytes: '16' }, /maxHeaderBytes is expected/],
  [{ quietMs: Number.POSITIVE_INFINITY }, /quietMs is expected to be milliseconds, up to 2147483647/],
  [{ quietMs: Number.NaN }, /quietMs is expected/],
])('%j is refused', (limits, message) => {
  expect(() => serverLimits(limits as never)).toThrow(message);
});
