import { expect, test } from 'vitest';
import { checkJsonSize } from '../../src/open-inference/json-size.js';

test('a million arrays and objects are fine, one more is not', () => {
  const most = Buffer.from(`[${'{},'.repeat(999_998)}{}]`);
  expect(() => checkJsonSize(most)).not.toThrow();
  const more = Buffer.from(`[${'[],'.repeat(999_999)}{}]`);
  expect(() => checkJsonSize(more)).toThrow(
    'body: expected JSON of at most 1000000 arrays and objects, got more.',
  );
});

test('large numbers of numbers are no matter', () => {
  expect(() => checkJsonSize(Buffer.from(`[${'1,'.repeat(2_000_000)}1]`))).not.toThrow();
});
