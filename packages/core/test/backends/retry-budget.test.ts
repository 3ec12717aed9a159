import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RetryBudget } from '../../src/backends/retry-budget.js';

test('for any order of batches and failures, retries are at most 10 plus a tenth of all batches', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 2000 }), (fails) => {
      const budget = new RetryBudget();
      let batches = 0;
      let retries = 0;
      for (const isFailing of fails) {
        budget.earn(1);
        batches += 1;
        if (isFailing && budget.spend()) retries += 1;
      }
      expect(retries).toBeLessThanOrEqual(10 + batches / 10);
    }),
  );
});

test('an unavailable backend does not get a retry for every batch', () => {
  const budget = new RetryBudget();
  let retries = 0;
  for (let batch = 0; batch < 1000; batch++) {
    budget.earn(1);
    if (budget.spend()) retries += 1;
  }
  expect(retries).toBeGreaterThanOrEqual(100);
  expect(retries).toBeLessThanOrEqual(110);
});

test('the budget covers one retry per slot, because all slots may fail at one moment', () => {
  const budget = new RetryBudget();
  budget.earn(64);
  expect(Array.from({ length: 65 }, () => budget.spend()).filter(Boolean)).toHaveLength(64);
});
