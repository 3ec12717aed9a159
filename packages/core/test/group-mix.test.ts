import { describe, expect, test } from 'vitest';
import { Batcher } from '../src/batcher.js';
import { VirtualClock } from '../src/time/virtual-clock.js';

const CALLERS = 8;

/** Callers return 2 ms after their answer, and each batch takes 22 ms. Returns the sizes of the last batches. */
async function batchSizes(groupOf: ((item: number) => unknown) | undefined): Promise<number[]> {
  const clock = new VirtualClock();
  const sizes: number[] = [];
  const sleep = (ms: number) => new Promise<void>((resolve) => clock.setTimer(resolve, ms));
  const batcher = new Batcher(
    async (items: number[]) => {
      sizes.push(items.length);
      await sleep(22);
      return items;
    },
    { clock, groupOf },
  );
  let isOver = false;
  const callers = Array.from({ length: CALLERS }, async (_, caller) => {
    await sleep(caller * 3);
    while (!isOver) {
      await batcher.submit(caller);
      await sleep(2);
    }
  });
  await clock.advance(5000);
  isOver = true;
  await clock.advance(100);
  await Promise.all(callers);
  await batcher.close();
  return sizes.slice(-50, -5);
}

const mean = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0) / numbers.length;

describe('groupOf', () => {
  // Root cause: with a `groupOf` the policy predicted no returning callers, so they stayed split into two batches.
  test('that puts all items in one group does not change the batches', async () => {
    expect(mean(await batchSizes(undefined))).toBeGreaterThan(7);
    expect(mean(await batchSizes(() => 'one'))).toBeGreaterThan(7);
  });

  test('with several groups, no item is held for callers of other groups', async () => {
    const sizes = await batchSizes((caller) => caller % 4);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2);
  });
});
