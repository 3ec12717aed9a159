import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RetryBudget } from '../../src/upstream/retry-budget.js';

test('whatever the order of calls and failures, retries are at most 10 plus a tenth of all calls', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 2000 }), (fails) => {
      const budget = new RetryBudget(0.1);
      let calls = 0;
      let retries = 0;
      for (const isFailing of fails) {
        budget.earn();
        calls += 1;
        if (isFailing && budget.spend()) retries += 1;
      }
      expect(retries).toBeLessThanOrEqual(10 + calls / 10);
    }),
  );
});

test('an unavailable upstream does not get a retry for every call', () => {
  const budget = new RetryBudget(0.1);
  let retries = 0;
  for (let call = 0; call < 1000; call++) {
    budget.earn();
    if (budget.spend()) retries += 1;
  }
  expect(retries).toBeGreaterThanOrEqual(100);
  expect(retries).toBeLessThanOrEqual(110);
});
