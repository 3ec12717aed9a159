import { expect, test } from 'vitest';
import { BATCH_SIZE, RUN_TIME } from '../src/page/axis.js';

test.each([
  [0, '0:00'],
  [65.9, '1:05'],
  [3599, '59:59'],
  [3723, '1:02:03'],
])('%s seconds of a run are written %s', (seconds, text) => {
  expect(RUN_TIME.text(seconds)).toBe(text);
});

test('a young run has room for a minute, an old one is shown whole', () => {
  expect(RUN_TIME.range(0, 5)).toEqual([0, 60]);
  expect(RUN_TIME.range(0, 500)).toEqual([0, 500]);
});

test('there are no half batches', () => {
  expect([BATCH_SIZE.text(4), BATCH_SIZE.text(4.5)]).toEqual(['4', '']);
});
