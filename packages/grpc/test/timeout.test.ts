import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatTimeout, parseTimeout } from '../src/index.js';

test.each([
  ['2H', 7_200_000],
  ['3M', 180_000],
  ['10S', 10_000],
  ['250m', 250],
  ['250u', 0.25],
  ['1500n', 0.0015],
  ['0m', 0],
  ['99999999H', 99_999_999 * 3_600_000],
])('%s is %d ms', (text, ms) => {
  expect(parseTimeout(text)).toBe(ms);
});

test.each(['', '10', 'm', '-1S', '1.5S', '100000000S', '1s', '1 S', '1SS', ' 1S', '1S\n', '٣S'])(
  '%j is malformed',
  (text) => {
    expect(parseTimeout(text)).toBeUndefined();
  },
);

test('any time is written within eight digits, and never shorter than it is', () => {
  fc.assert(
    fc.property(fc.double({ min: 0.001, max: 99_999_999 * 3_600_000, noNaN: true }), (ms) => {
      const text = formatTimeout(ms);
      expect(text).toMatch(/^\d{1,8}[HMSmun]$/);
      const parsed = parseTimeout(text) as number;
      expect(parsed).toBeGreaterThanOrEqual(ms - 1e-6 * ms);
      // Eight digits: seconds follow on 99,999,999 ms, so one in a hundred thousand.
      expect(parsed).toBeLessThanOrEqual(ms * 1.000_02 + 0.001);
    }),
  );
});

test.each([0, -5, Number.NaN])('a time of %d has passed', (ms) => {
  expect(formatTimeout(ms)).toBe('0n');
});

test('what is longer than can be written is the longest that can', () => {
  expect(formatTimeout(Number.POSITIVE_INFINITY)).toBe('99999999H');
});
