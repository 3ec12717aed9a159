import { expect, test } from 'vitest';
import { bytes, count, duration, milliseconds, percent, share } from '../src/page/numbers.js';

test.each([
  [undefined, '–'],
  [0, '0'],
  [0.0123, '0.012'],
  [0.5, '0.5'],
  [12.34, '12.3'],
  [1234.5, '1,235'],
  [20_000, '20,000'],
  [123_456, '123 k'],
])('%s is told as %s', (value, told) => {
  expect(count(value)).toBe(told);
});

test('times, sizes and shares have their units', () => {
  expect([milliseconds(0.25), milliseconds(1500), milliseconds(undefined)]).toEqual([
    '0.25 ms',
    '1.5 s',
    '–',
  ]);
  expect([bytes(150 * 2 ** 20), bytes(3 * 2 ** 30)]).toEqual(['150 MiB', '3 GiB']);
  expect(percent(0.256)).toBe('26 %');
});

test.each([
  [-3, '0 s'],
  [59.9, '59 s'],
  [61, '1 min 1 s'],
  [7322, '2 h 2 min'],
  [200_000, '2 d 7 h'],
])('%s seconds are %s', (seconds, told) => {
  expect(duration(seconds)).toBe(told);
});

test('few of many are not none', () => {
  expect([share(0, 0), share(0, 9), share(1, 5000), share(1, 3)]).toEqual(['–', '0 %', '0.02 %', '33.3 %']);
});
