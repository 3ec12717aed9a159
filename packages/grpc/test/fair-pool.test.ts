import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FairPool } from '../src/fair-pool.js';

it('one holder gets half of it at most, and leaves the other half to others', () => {
  const pool = new FairPool<string>();
  let taken = 0;
  for (; pool.hasRoom('greedy', 1, 100); taken++) pool.take('greedy', 1);
  expect(taken).toBe(50);
  expect(pool.hasRoom('modest', 25, 100)).toBe(true);
  expect(pool.hasRoom('modest', 26, 100)).toBe(false);
});

it('the first of an empty pool may take all of it, in one piece', () => {
  const pool = new FairPool<string>();
  expect(pool.hasRoom('one', 100, 100)).toBe(true);
  expect(pool.hasRoom('one', 101, 100)).toBe(false);
});

it('however many take all they can get, the next one gets as much as each of them', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30 }), fc.array(fc.nat(29), { maxLength: 50 }), (holders, ends) => {
      const pool = new FairPool<number>();
      const max = 31 * 100;
      for (let round = 0; round < max; round++) {
        for (let holder = 0; holder < holders; holder++) {
          if (pool.hasRoom(holder, 1, max)) pool.take(holder, 1);
        }
      }
      const least = Math.floor(max / (holders + 1)) - holders;
      for (let holder = 0; holder < holders; holder++)
        expect(pool.heldBy(holder)).toBeGreaterThanOrEqual(least);
      expect(max - pool.used).toBeGreaterThanOrEqual(least);
      for (const end of ends) pool.giveBack(end, pool.heldBy(end));
      expect(pool.used).toBeLessThanOrEqual(max);
      for (let holder = 0; holder < holders; holder++) pool.giveBack(holder, pool.heldBy(holder));
      expect(pool.used).toBe(0);
    }),
    { numRuns: 30 },
  );
});
