/** `waitedMs`: the time that an item has waited before the call. */
import { Batcher, type QueueView, VirtualClock, window } from 'batchwise';
import { expect, test } from 'vitest';
import { Entry } from '../src/queue/entry.js';
import { ItemQueue } from '../src/queue/item-queue.js';
import { gated } from './support/gate.js';

test('the window of an item with waitedMs began that much earlier', async () => {
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

test('a policy sees the earlier arrival, and the time-out still counts from the call', async () => {
  const seen: number[] = [];
  const policy = {
    name: 'reading',
    decide(view: QueueView) {
      seen.push(view.oldestAt, view.arrivedAt(0), view.arrivedAt(1), view.deadlineAt(0));
      return { action: 'dispatch', count: view.length, reason: 'idle' } as const;
    },
  };
  const { batcher, clock } = gated({ policy });
  await clock.advance(500);
  batcher.submit(1).catch(() => {});
  batcher.submit(2, { waitedMs: 300, timeoutMs: 50 }).catch(() => {});
  await clock.advance(1);
  expect(seen).toEqual([200, 200, 500, 550]);
  batcher.destroy();
});

test('the context of a handler has the wait of its oldest item', async () => {
  const { batcher, clock, gate } = gated();
  batcher.submit(1).catch(() => {});
  batcher.submit(2, { waitedMs: 300 }).catch(() => {});
  await clock.advance(1);
  expect(gate.call(0).context.oldestWaitMs).toBe(300);
  batcher.destroy();
});

test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, '5'])('waitedMs %s is rejected', async (waitedMs) => {
  await using batcher = new Batcher((items: number[]) => items);
  await expect(batcher.submit(1, { waitedMs: waitedMs as number })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringContaining('waitedMs: expected milliseconds (a finite number, 0 or more), got '),
  });
});

/** The times of dispatch with a policy that always holds, so that `maxWaitMs` ends each hold. */
async function dispatchTimes(
  reads: boolean,
  submit: (batcher: Batcher<string, string>) => void,
): Promise<number[]> {
  const clock = new VirtualClock();
  const dispatches: number[] = [];
  const policy = {
    name: 'holding',
    decide(view: QueueView) {
      if (reads) view.costAt(0);
      return { action: 'wait', until: Number.POSITIVE_INFINITY } as const;
    },
  };
  const handler = (items: string[]) => {
    dispatches.push(clock.now());
    return items;
  };
  const batcher = new Batcher(handler, { clock, policy, maxWaitMs: 100 });
  submit(batcher);
  await clock.advance(500);
  return dispatches;
}

// Root cause: the head of a lane counted as its oldest item after a policy had read the queue, or after the oldest item
// was removed.
test('an item with waitedMs behind a new item stays the oldest when a policy reads the queue', async () => {
  const dispatches = await dispatchTimes(true, (batcher) => {
    batcher.submit('fresh');
    batcher.submit('old', { waitedMs: 90 });
  });
  expect(dispatches).toEqual([10]);
});

test('an item with waitedMs is the oldest after an older one is removed', async () => {
  const dispatches = await dispatchTimes(false, (batcher) => {
    batcher.submit('fresh');
    batcher.submit('old', { waitedMs: 50 });
    const sink = { resolve: () => {}, reject: () => {} };
    batcher.enqueue('older', sink, { waitedMs: 90 }).cancel();
  });
  expect(dispatches).toEqual([50]);
});

// Root cause: the flushed state of a group was kept until the arrival of a younger item.
test('a flush does not apply to later items, whatever their waitedMs', async () => {
  const clock = new VirtualClock();
  const dispatches: (number | string)[][] = [];
  const handler = (items: number[], { reason }: { reason: string }) => {
    dispatches.push([clock.now(), reason]);
    return items;
  };
  const batcher = new Batcher(handler, { clock, policy: window({ maxWaitMs: 1000 }) });
  await clock.advance(10);
  void batcher.submit(1);
  batcher.flush();
  await clock.advance(90);
  void batcher.submit(2, { waitedMs: 95 });
  await clock.advance(2000);
  expect(dispatches).toEqual([
    [10, 'manual'],
    [1005, 'window'],
  ]);
});

test('items that were queued elsewhere before are dispatched in order of arrival', async () => {
  const { batcher, clock, gate } = gated({ maxBatchSize: 4 });
  const sink = { resolve() {}, reject() {} };
  await clock.advance(100);
  for (const [item, waitedMs] of [0, 30, 50, 30, 40].entries()) batcher.enqueue(item, sink, { waitedMs });
  await clock.advance(1);
  expect(gate.call(0).items).toEqual([2, 4, 1, 3]);
  batcher.destroy();
});

test('an older item in the middle of a long queue is compared with a bounded number of items', () => {
  const queue = new ItemQueue({ cancel() {}, expire() {} }, 1000);
  let reads = 0;
  const add = (at: number) => {
    const moment = {
      arrivals: 0,
      get at() {
        reads += 1;
        return at;
      },
    };
    const entry = new Entry(at, { resolve() {}, reject() {} }, moment, 1);
    queue.append(entry, undefined, queue.tenants.unnamed, 0);
  };
  for (let at = 0; at < 10_000; at++) add(at);
  reads = 0;
  add(5000);
  expect(reads).toBeLessThan(1000);
  expect(queue.oldestAt).toBe(0);
});
