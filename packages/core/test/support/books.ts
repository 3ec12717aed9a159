/** Checks that the counts of stats() add up: at any instant every call is in exactly one column. */
import type { Batcher } from 'batchwise';
import { expect } from 'vitest';

export function expectBooksToBalance<I, R>(batcher: Batcher<I, R>): void {
  const stats = batcher.stats();
  const { submitted, succeeded, failed, refused, cancelled, expired, queued, running } = stats;
  const columns = { succeeded, failed, refused, cancelled, expired, queued, running };
  for (const [column, count] of Object.entries(columns)) {
    expect(count, `${column} in ${JSON.stringify(stats)}`).toBeGreaterThanOrEqual(0);
  }
  const sum = succeeded + failed + refused + cancelled + expired + queued + running;
  expect(sum, `the sum of ${JSON.stringify(columns)}`).toBe(submitted);
}

/** Checks that no item is queued or running. */
export function expectRest<I, R>(batcher: Batcher<I, R>): void {
  expectBooksToBalance(batcher);
  expect(batcher.stats()).toMatchObject({ queued: 0, running: 0, queuedCost: 0, batchesRunning: 0 });
}
