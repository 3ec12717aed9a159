import { describe, expect, test } from 'vitest';
import { Batcher } from '../src/batcher.js';
import { VirtualClock } from '../src/time/virtual-clock.js';

const CALLERS = 8;

/** Callers who come back 2 ms after their answer, from a backend that takes 22 ms whatever the batch; late batch sizes. */
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

describe('groups, when all items are in one of them', () => {
  // Where there was a `groupOf` at all the policy expected nobody: callers who came back together stayed split in halves.
  test('are batched as if there were none', async () => {
    expect(mean(await batchSizes(undefined))).toBeGreaterThan(7);
    expect(mean(await batchSizes(() => 'one'))).toBeGreaterThan(7);
  });

  test('callers of several groups are not waited for', async () => {
    const sizes = await batchSizes((caller) => caller % 4);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2);
  });
});
