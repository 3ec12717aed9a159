import { formulaCurve, goodputOptimum } from '@batchwise/arena';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { puzzles, solveByRuns, TRAPS } from './bounds/support/exhaustive.js';

describe('the optimum of a slot that is busy at first', () => {
  test('is that of an exhaustive search', () => {
    fc.assert(
      fc.property(puzzles(8), fc.integer({ min: 0, max: 12 }), (puzzle, freeFrom) => {
        const { arrivedAt, curve, targetLatencyMs } = puzzle;
        // The exhaustive search begins at 0: items that arrived earlier have waited.
        const shifted = { ...puzzle, arrivedAt: arrivedAt.map((at) => at - freeFrom) };
        const { onTime } = goodputOptimum(arrivedAt, curve, targetLatencyMs, undefined, freeFrom);
        expect(onTime).toBe(solveByRuns(shifted).mostOnTime);
      }),
      {
        numRuns: 300,
        seed: 20,
        examples: TRAPS.flatMap((trap) =>
          [1, 3, 6, 12].map((freeFrom): [typeof trap, number] => [trap, freeFrom]),
        ),
      },
    );
  });

  test('is 0 if the slot is busy for too long', () => {
    const curve = formulaCurve('2 + b', 4, (size) => 2 + size);
    expect(goodputOptimum([0, 1, 2], curve, 5, undefined, 10).onTime).toBe(0);
    expect(goodputOptimum([0, 1, 2], curve, 5, undefined, 4).onTime).toBe(1);
  });
});
