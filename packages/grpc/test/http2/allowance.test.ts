import { expect, test } from 'vitest';
import { Allowance } from '../../src/http2/allowance.js';

test('so many at once, and so many a second, however long nothing was taken before', () => {
  let now = 0;
  const allowance = new Allowance(10, 2, () => now);
  now = 3_600_000;
  const taken = Array.from({ length: 11 }, () => allowance.take());
  expect(taken).toEqual([...Array(10).fill(true), false]);
  now += 1000;
  expect([allowance.take(), allowance.take()]).toEqual([true, false]);
});

test('what is given back counts, up to the most', () => {
  const allowance = new Allowance(2, 1, () => 0);
  for (let i = 0; i < 10; i++) allowance.giveBack();
  expect([allowance.take(), allowance.take()]).toEqual([true, true]);
  allowance.giveBack();
  expect([allowance.take(), allowance.take()]).toEqual([true, false]);
});
