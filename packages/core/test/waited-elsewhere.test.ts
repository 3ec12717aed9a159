/** Items that have waited before they came: `waitedMs`. */
import { Batcher, type QueueView, VirtualClock, window } from 'batchwise';
import { expect, test } from 'vitest';
import { gated } from './support/gate.js';

test('the window of one that has waited elsewhere began there', async () => {
  const clock = new VirtualClock();
  const starts: number[] = [];
  const handler = (items: number[]) => {
    starts.push(clock.now());
    return items;
  };
  await using batcher = new Batcher(handler, { clock, policy: window({ maxWaitMs: 100 }) });
  const promise = batcher.submit(1, { waitedMs: 70 });
  await clock.advance(200);
  expect(await promise).toBe(1);
  expect(starts).toEqual([30]);
});

test('a policy sees when it came, and the time-out still counts from now', async () => {
  const seen: number[] = [];
  const policy = {
    name: 'looking',
    decide(view: QueueView) {
      seen.push(view.oldestAt, view.arrivedAt(0), view.arrivedAt(1), view.deadlineAt(1));
      return { action: 'dispatch', count: view.length, reason: 'idle' } as const;
    },
  };
  const { batcher, clock } = gated({ policy });
  await clock.advance(500);
  batcher.submit(1).catch(() => {});
  batcher.submit(2, { waitedMs: 300, timeoutMs: 50 }).catch(() => {});
  await clock.advance(1);
  expect(seen).toEqual([200, 500, 200, 550]);
  batcher.destroy();
});

test('a handler is told for how long the first of its items has waited', async () => {
  const { batcher, clock, gate } = gated();
  batcher.submit(1).catch(() => {});
  batcher.submit(2, { waitedMs: 300 }).catch(() => {});
  await clock.advance(1);
  expect(gate.call(0).context.oldestWaitMs).toBe(300);
  batcher.destroy();
});

test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, '5'])('waitedMs: %s is refused', async (waitedMs) => {
  await using batcher = new Batcher((items: number[]) => items);
  await expect(batcher.submit(1, { waitedMs: waitedMs as number })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringContaining('waitedMs: expected milliseconds (a finite number, 0 or more), got '),
  });
});
