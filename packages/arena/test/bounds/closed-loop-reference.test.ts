import { closedLoopReference, formulaCurve } from '@batchwise/arena';
import { describe, expect, test } from 'vitest';

const STRAIGHT = formulaCurve('2 + b', 8, (size) => 2 + size);

describe('the reference for a closed loop', () => {
  test('has all users in every batch of one slot', () => {
    expect(closedLoopReference(STRAIGHT, 1, 6, 2)).toEqual({ perMs: 0.6, meanMs: 8 });
  });

  test('has an equal share of users per slot', () => {
    expect(closedLoopReference(STRAIGHT, 2, 6, 5)).toEqual({ perMs: 0.6, meanMs: 5 });
  });

  test('has batches of one if there are more slots than users', () => {
    expect(closedLoopReference(STRAIGHT, 4, 2, 7).meanMs).toBeCloseTo(3, 12);
  });

  test('is the maximum throughput if the slots cannot batch all users', () => {
    expect(closedLoopReference(STRAIGHT, 1, 16, 0)).toEqual({ perMs: 0.8, meanMs: 20 });
    // Unless think times are so long that the slots are seldom full.
    expect(closedLoopReference(STRAIGHT, 1, 16, 1590).perMs).toBeCloseTo(0.01, 12);
  });
});
