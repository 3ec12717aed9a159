import { expect, test } from 'vitest';
import { DEFAULT_HTTP_LIMITS, validHttpLimits } from '../../src/http/http-limits.js';

test('what is not given has its default', () => {
  expect(validHttpLimits({})).toEqual(DEFAULT_HTTP_LIMITS);
  expect(validHttpLimits({ maxBodyBytes: 10 })).toEqual({ ...DEFAULT_HTTP_LIMITS, maxBodyBytes: 10 });
});

test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '10', null])('%j is no limit', (value) => {
  expect(() => validHttpLimits({ maxBodyBytes: value as number })).toThrow(
    /^limits\.maxBodyBytes: expected a whole number from 0 to \d+, got /,
  );
});

test('an unknown limit is refused with those that are known', () => {
  expect(() => validHttpLimits({ maxBody: 1 } as object)).toThrow(
    /^limits: unknown limit "maxBody". Known are maxBodyBytes, /,
  );
});
