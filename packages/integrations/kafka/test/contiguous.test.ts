import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Contiguous } from '../src/contiguous.js';

test('the length is the index of the first element that is not done', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(40)), (order) => {
      const contiguous = new Contiguous();
      const done = new Set<number>();
      for (const index of order) {
        contiguous.done(index);
        done.add(index);
        let first = 0;
        while (done.has(first)) first += 1;
        expect(contiguous.length).toBe(first);
      }
    }),
  );
});
