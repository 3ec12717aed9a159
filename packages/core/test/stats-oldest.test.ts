import { Batcher, greedy, VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';

test('stats() contain the queue wait of the oldest item of all groups, and the learned durations', async () => {
  const clock = new VirtualClock();
  const batcher = new Batcher(
    async (items: string[]) => {
      await new Promise<void>((resolve) => clock.setTimer(resolve, 10));
      return items;
    },
    { clock, policy: greedy(), groupOf: (item) => item[0], maxBatchSize: 4 },
  );
  expect(batcher.stats()).toMatchObject({ oldestWaitMs: 0, curve: [] });
  const first = batcher.submit('a1');
  await clock.advance(2);
  const others = [batcher.submit('b1')];
  await clock.advance(3);
  others.push(batcher.submit('a2'));
  await clock.advance(1);
  expect(batcher.stats().oldestWaitMs).toBe(4);
  await clock.advance(40);
  await Promise.all([first, ...others]);
  expect(batcher.stats()).toMatchObject({ oldestWaitMs: 0, curve: [{ cost: 1, durationMs: 10 }] });
});
