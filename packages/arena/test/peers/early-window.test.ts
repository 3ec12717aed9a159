/** A window that closes a batch whether or not a slot is free. */
import { peer, type Run, simulate } from '@batchwise/arena';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shownQueue } from '../support/shown-queue.js';
import { traceScenario } from '../support/trace-scenario.js';

const window2 = () => peer('window-2').policy(traceScenario([0], () => 1));

const sizesOf = ({ batches }: Run) => batches.map(({ size }) => size);

test('batches are closed by arrival times while the slot is busy, and dispatched in order', async () => {
  // Closed at 2: {0, 1}. At 4.5, full: {3, 3.5, 4, 4.5}. At 6.6: {4.6}. At 22: {20}. Each runs for 10 ms.
  const times = [0, 1, 3, 3.5, 4, 4.5, 4.6, 20];
  const run = await simulate(
    traceScenario(times, () => 10),
    peer('window-2'),
  );
  expect(run.batches.map(({ startedAt, size }) => [startedAt, size])).toEqual([
    [2, 2],
    [12, 4],
    [22, 1],
    [32, 1],
  ]);
});

test('a batch of the late window grows while the slot is busy', async () => {
  const times = [0, 1, 3, 3.5, 4, 4.5, 4.6, 20];
  const run = await simulate(
    traceScenario(times, () => 10),
    peer('triton-2'),
  );
  expect(sizesOf(run)).toEqual([2, 4, 2]);
});

test('the batches depend on the arrival times only, not on the backend', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 0, max: 9 }),
      fc.integer({ min: 1, max: 3 }),
      async (gaps, durationMs, slots) => {
        let at = 0;
        const times = gaps.map((gap) => {
          at += gap / 8; // eighths of a millisecond add up exactly
          return at;
        });
        const run = await simulate(
          traceScenario(times, () => durationMs + 0.25, { slots }),
          peer('window-2'),
        );
        expect(sizesOf(run)).toEqual(boundSizes(times, 2, 4));
      },
    ),
    { numRuns: 150 },
  );
});

/** The rule implemented again, per arrival. */
function boundSizes(times: readonly number[], windowMs: number, maxBatchSize: number): number[] {
  const sizes: number[] = [];
  let openedAt = Number.NEGATIVE_INFINITY;
  let isOpen = false;
  for (const at of times) {
    if (!isOpen || at > openedAt + windowMs) {
      sizes.push(0);
      openedAt = at;
    }
    const size = (sizes.pop() ?? 0) + 1;
    sizes.push(size);
    isOpen = size < maxBatchSize;
  }
  return sizes;
}

test('while holding, it reads the head of the queue only', () => {
  const view = shownQueue({ arrivedAt: [5, 6, 6.5] });
  expect(window2().decide(view, 6.5)).toMatchObject({ action: 'wait', until: 7 });
  expect(view.lookedAt).toBe(0);
});

test('the maximum batch size is a cost: an item that does not fit opens the next window', () => {
  const view = shownQueue({ arrivedAt: [0, 1, 1, 1], costs: [1, 2, 2, 1] });
  expect(window2().decide(view, 9)).toEqual({ action: 'dispatch', count: 2, reason: 'full' });
});
