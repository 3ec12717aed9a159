import { closedLoopReference, formulaCurve } from '@batchwise/arena';
import { describe, expect, test } from 'vitest';

const STRAIGHT = formulaCurve('2 + b', 8, (size) => 2 + size);

describe('the reference for a closed loop', () => {
  test('is everybody in every batch of the one slot', () => {
    expect(closedLoopReference(STRAIGHT, 1, 6, 2)).toEqual({ perMs: 0.6, meanMs: 8 });
  });

  test('is an equal share for each slot', () => {
    expect(closedLoopReference(STRAIGHT, 2, 6, 5)).toEqual({ perMs: 0.6, meanMs: 5 });
  });

  test('is each alone when there are more slots than users', () => {
    expect(closedLoopReference(STRAIGHT, 4, 2, 7).meanMs).toBeCloseTo(3, 12);
  });

  test('is the best rate of the slots when they cannot hold everybody', () => {
    expect(closedLoopReference(STRAIGHT, 1, 16, 0)).toEqual({ perMs: 0.8, meanMs: 20 });
    // Unless they pause so long that the slots are seldom full.
    expect(closedLoopReference(STRAIGHT, 1, 16, 1590).perMs).toBeCloseTo(0.01, 12);
  });
});
