import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Retries } from '../../src/backends/retries.js';
import { Entry } from '../../src/queue/entry.js';

const anEntry = () => new Entry(1, () => {}, { at: 0, arrivals: 0 }, 1);
/** Whether a batch with a new item that was not started is sent again. */
const isRetried = (retries: Retries) => retries.of([anEntry()], false).length > 0;

test('for any order of batches and failures, retries are at most 10 plus a tenth of all batches', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 2000 }), (fails) => {
      const retries = new Retries(1);
      let batches = 0;
      let count = 0;
      for (const isFailing of fails) {
        retries.earn(1);
        batches += 1;
        if (isFailing && isRetried(retries)) count += 1;
      }
      expect(count).toBeLessThanOrEqual(10 + batches / 10);
    }),
  );
});

test('an unavailable backend does not get a retry for every batch', () => {
  const retries = new Retries(1);
  let count = 0;
  for (let batch = 0; batch < 1000; batch++) {
    retries.earn(1);
    if (isRetried(retries)) count += 1;
  }
  expect(count).toBeGreaterThanOrEqual(100);
  expect(count).toBeLessThanOrEqual(110);
});

test('the budget covers one retry per slot, because all slots may fail at one moment', () => {
  const retries = new Retries(1);
  retries.earn(64);
  expect(Array.from({ length: 65 }, () => isRetried(retries)).filter(Boolean)).toHaveLength(64);
});
