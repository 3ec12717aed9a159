/** What the rules of the adaptive policy ask of a queue, and how much of it they look at for the answer. */
import { expect, test } from 'vitest';
import { earliestDeadline } from '../src/policy/view-questions.js';
import { shownView } from './support/shown-view.js';

// Root cause: where costs differ, all that waits was looked at for the earliest deadline of the next batch, at every
// decision: ten milliseconds of a queue of fifty thousand.
test('of a long queue no more is looked at than can be in the next batch, whatever the items cost', () => {
  const waiting = Array.from({ length: 10_000 }, (_, i) => ({
    arrivedAt: 0,
    cost: 1 + (i % 2),
    deadline: 100,
  }));
  const view = shownView({ waiting, maxBatchSize: 32 });
  let looked = 0;
  const counting = Object.assign(Object.create(view), {
    earliestDeadline: (count: number) => {
      looked = count;
      return view.earliestDeadline(count);
    },
  });
  expect(earliestDeadline(counting)).toBe(100);
  expect(looked).toBeLessThanOrEqual(32);
});
