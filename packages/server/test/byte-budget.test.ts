import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteBudget } from '../src/byte-budget.js';

describe('the memory of a server', () => {
  test('one share gets half of it, and leaves the rest to others', () => {
    const budget = new ByteBudget(1000);
    const [greedy, other] = [budget.share(), budget.share()];
    for (let i = 0; i < 1000; i++) greedy.take(1);
    expect(greedy.bytes).toBe(500);
    for (let i = 0; i < 1000; i++) other.take(1);
    expect(other.bytes).toBe(250);
    expect(budget.share().take(100)).toBe(true);
  });

  test('what is given back can be taken again', () => {
    const budget = new ByteBudget(1000);
    const share = budget.share();
    expect(share.take(500)).toBe(true);
    expect(share.take(1)).toBe(false);
    share.add(-500);
    expect([share.bytes, budget.used]).toEqual([0, 0]);
    expect(share.take(500)).toBe(true);
  });

  test('an answer has room as long as there is any, and always where nothing else is held', () => {
    const budget = new ByteBudget(100_000);
    const [one, other] = [budget.share(), budget.share()];
    expect(one.hasRoomFor(1_000_000)).toBe(true);
    one.add(90_000);
    expect([other.hasRoomFor(10_000), other.hasRoomFor(10_001), other.hasRoomFor(1000)]).toEqual([
      true,
      false,
      true,
    ]);
  });

  test('however much shares ask for, one that comes later has room', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(5), fc.integer({ min: 1, max: 700 }))), (asked) => {
        const budget = new ByteBudget(7000);
        const shares = Array.from({ length: 6 }, () => budget.share());
        for (const [index, bytes] of asked) shares[index]?.take(bytes);
        expect(budget.used).toBe(shares.reduce((sum, { bytes }) => sum + bytes, 0));
        expect(budget.max - budget.used).toBeGreaterThanOrEqual(1000);
      }),
    );
  });
});
