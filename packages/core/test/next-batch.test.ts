/** The number of queued items that the adaptive policy reads for one decision. */
import { expect, test } from 'vitest';
import { earliestDeadline } from '../src/policy/next-batch.js';
import { shownView } from './support/shown-view.js';

// Root cause: with different costs, each decision read the whole queue for the earliest deadline of the next batch:
// 10 ms with 50,000 items.
test('of a long queue no more items are read than fit in a batch, whatever their cost', () => {
  const waiting = Array.from({ length: 10_000 }, (_, i) => ({
    arrivedAt: 0,
    cost: 1 + (i % 2),
    deadline: 100,
  }));
  const view = shownView({ waiting, maxBatchSize: 32 });
  let itemsRead = 0;
  const counting = Object.assign(Object.create(view), {
    earliestDeadline: (count: number) => {
      itemsRead = count;
      return view.earliestDeadline(count);
    },
  });
  expect(earliestDeadline(counting)).toBe(100);
  expect(itemsRead).toBeLessThanOrEqual(32);
});
