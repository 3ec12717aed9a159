/** Admitted items that miss the target are rejected by a timer, with any policy. */
import { adaptive, type Batcher, greedy, window } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { type Arrival, Driven, type Fate } from './support/driven.js';
import { gated } from './support/gate.js';
import { GatedBackend, notStarted, placed } from './support/gated-backend.js';

const TARGET_MS = 1000;
const BATCH_MS = 50;
/** The sweeps have an interval of 1/32 of the limit. */
const LATEST_MS = (TARGET_MS + BATCH_MS) * (1 + 1 / 32) + 1;

const policies = { adaptive, greedy, window: () => window({ maxWaitMs: 5 }) };

/** The time from arrival to rejection of each rejected item. */
function rejectedAfterMs(fates: Iterable<Fate>): number[] {
  return [...fates].filter(({ code }) => code === 'OVERLOADED').map((fate) => fate.endedAt - fate.arrival.at);
}

describe.each(Object.entries(policies))('with policy %s', (_, policy) => {
  // Root cause: late items were rejected only by the policy, at the head of the queue. While items of higher priority
  // arrived, lower ones reached the head many targets later.
  test.each([
    ['higher priorities', { priority: 100 }],
    ['higher priorities of another tenant', { priority: 100, tenant: 'other', weight: 100 }],
    ['a group of higher priority', { priority: 100, group: 'other' }],
  ])('rejects items soon after the target while the backend serves %s first', async (_name, others) => {
    const driven = new Driven(() => BATCH_MS, {
      maxBatchSize: 8,
      targetLatencyMs: TARGET_MS,
      policy: policy(),
      groupOf: ({ group }) => group,
    });
    const { clock } = driven;
    const lowPriority: Arrival[] = [];
    for (let i = 0; i < 1000; i++) {
      // The other items alone exceed the throughput of the backend.
      driven.arrive(others);
      if (i % 10 === 0) lowPriority.push(driven.arrive());
      await clock.advance(BATCH_MS / 16);
    }
    await clock.advance(10 * TARGET_MS);

    const fates = lowPriority.map((arrival) => driven.fates.get(arrival));
    expect(fates).not.toContain(undefined);
    expect(Math.max(...(fates as Fate[]).map(({ endedAt, arrival }) => endedAt - arrival.at))).toBeLessThan(
      LATEST_MS + BATCH_MS,
    );
    expect(Math.max(...rejectedAfterMs(driven.fates.values()))).toBeLessThan(LATEST_MS);
  });

  test('rejects items soon after the target while a batch hangs', async () => {
    const { batcher, clock, gate } = gated({
      maxBatchSize: 2,
      targetLatencyMs: TARGET_MS,
      policy: policy(),
      curve: [{ cost: 2, durationMs: BATCH_MS }],
    });
    const running = batcher.submit(0);
    await clock.advance(100);
    const ended: string[] = [];
    const queued = [1, 2, 3].map((item) =>
      batcher.submit(item).catch(({ code, retryAfterMs }) => {
        ended.push(`${code} ${retryAfterMs > 0}`);
      }),
    );
    await clock.advance(TARGET_MS);
    expect(ended).toEqual([]);
    await clock.advance(LATEST_MS - TARGET_MS + 1);
    expect(ended).toEqual(['OVERLOADED true', 'OVERLOADED true', 'OVERLOADED true']);
    await Promise.all(queued);
    expect(batcher.stats()).toMatchObject({ refused: 3, queued: 0, running: 1 });

    gate.call(0).answer([0]);
    expect(await running).toBe(0);
    await clock.settle();
    expect(clock.pendingTimers).toBe(0);
    await batcher.close();
  });
});

test('without a target, or with admission off, a queued item is not rejected for its wait', async () => {
  for (const options of [{}, { targetLatencyMs: TARGET_MS, admission: false }]) {
    const { batcher, clock, gate } = gated({
      maxBatchSize: 1,
      policy: greedy(),
      curve: [{ cost: 1, durationMs: BATCH_MS }],
      ...options,
    });
    const answers = [batcher.submit(1), batcher.submit(2)];
    await clock.advance(100 * TARGET_MS);
    gate.call(0).answer([1]);
    await clock.settle();
    gate.call(1).answer([2]);
    expect(await Promise.all(answers)).toEqual([1, 2]);
    await batcher.close();
  }
});

test('a closing batcher answers all admitted items, however late', async () => {
  const { batcher, clock, gate } = gated({
    maxBatchSize: 1,
    targetLatencyMs: TARGET_MS,
    curve: [{ cost: 1, durationMs: BATCH_MS }],
  });
  const answers = [batcher.submit(1), batcher.submit(2)];
  await clock.settle();
  const closed = batcher.close();
  await clock.advance(100 * TARGET_MS);
  gate.call(0).answer([1]);
  await clock.settle();
  gate.call(1).answer([2]);
  expect(await Promise.all(answers)).toEqual([1, 2]);
  await closed;
});

// Root cause: a shared item was rejected for all its callers, by the arrival of the first one.
test('a caller that joined a shared item later is not rejected with earlier callers', async () => {
  const { batcher, clock, gate } = gated({
    maxBatchSize: 1,
    targetLatencyMs: TARGET_MS,
    policy: greedy(),
    dedupeBy: (item) => item,
    curve: [{ cost: 1, durationMs: BATCH_MS }],
  });
  const running = batcher.submit(0);
  await clock.settle();
  const first = batcher.submit(1).catch(({ code }) => code);
  await clock.advance(TARGET_MS);
  const second = batcher.submit(1);
  await clock.advance(LATEST_MS - TARGET_MS + 1);
  expect(await first).toBe('OVERLOADED');
  expect(batcher.stats()).toMatchObject({ refused: 1, queued: 1 });

  gate.call(0).answer([0]);
  await clock.settle();
  gate.call(1).answer([1]);
  expect(await Promise.all([running, second])).toEqual([0, 1]);
  await batcher.close();
});

test('an item is dispatched at the end of a window that is longer than the target, while a slot is free', async () => {
  const { batcher, clock, gate } = gated({
    maxBatchSize: 4,
    targetLatencyMs: TARGET_MS,
    policy: window({ maxWaitMs: 5 * TARGET_MS }),
    curve: [{ cost: 4, durationMs: BATCH_MS }],
  });
  const answer = batcher.submit(1);
  await clock.advance(5 * TARGET_MS);
  gate.call(0).answer([1]);
  expect(await answer).toBe(1);
  await batcher.close();
});

test('a shorter target applies to queued items', async () => {
  const { batcher, clock } = gated({
    maxBatchSize: 1,
    targetLatencyMs: 100 * TARGET_MS,
    policy: greedy(),
    curve: [{ cost: 1, durationMs: BATCH_MS }],
  });
  batcher.submit(0).catch(() => {});
  await clock.settle();
  batcher.submit(1).catch(() => {});
  await clock.settle();
  batcher.configure({ targetLatencyMs: TARGET_MS });
  await clock.advance(LATEST_MS + 1);
  expect(batcher.stats()).toMatchObject({ queued: 0, refusals: { OVERLOADED: 1 } });
  batcher.destroy();
});

describe('a rejected caller that calls the batcher at once:', () => {
  const reactions: Readonly<Record<string, (batcher: Batcher<number, number>) => void>> = {
    close: (batcher) => void batcher.close({ timeoutMs: 10 }),
    destroy: (batcher) => batcher.destroy(),
    flush: (batcher) => batcher.flush(),
    configure: (batcher) => batcher.configure({ maxBatchSize: 1 }),
    submit: () => {},
  };
  test.each(Object.entries(reactions))('%s: every caller is settled once', async (name, react) => {
    for (const policy of Object.values(policies)) {
      const { batcher, clock, gate } = gated({
        maxBatchSize: 2,
        targetLatencyMs: TARGET_MS,
        policy: policy(),
        groupOf: (item) => item % 3,
        curve: [{ cost: 2, durationMs: BATCH_MS }],
      });
      let submitted = 0;
      let settled = 0;
      const submit = (item: number, triesLeft: number) => {
        submitted += 1;
        const reject = () => {
          settled += 1;
          if (name === 'submit' && triesLeft > 0) submit(item, triesLeft - 1);
          react(batcher);
        };
        batcher.enqueue(item, { resolve: () => void settled++, reject });
      };
      for (let item = 0; item < 12; item++) submit(item, 2);
      for (let rounds = 0; rounds < 20; rounds++) {
        await clock.advance(TARGET_MS / 2);
        for (const call of gate.calls.slice(rounds, rounds + 1)) call.answer(call.items);
      }
      batcher.destroy();
      await clock.settle();
      expect(settled).toBe(submitted);
      expect(clock.pendingTimers).toBe(0);
    }
  });
});

// Root cause: the age of the oldest queued item was only read again after a sweep, not when an older item arrived.
test('an item with waitedMs behind a younger one is rejected on time', async () => {
  const curve = [{ cost: 4, durationMs: 10 }];
  const { batcher, clock } = gated({ maxBatchSize: 4, targetLatencyMs: TARGET_MS, curve });
  const young = { resolve() {}, reject() {} };
  batcher.enqueue(0, young);
  await clock.advance(5);
  batcher.enqueue(1, young);
  await clock.advance(1);
  const start = clock.now();
  const rejectedAt: number[] = [];
  batcher.enqueue(2, { resolve() {}, reject: () => void rejectedAt.push(clock.now()) }, { waitedMs: 900 });
  await clock.advance(300);
  expect(rejectedAt).toEqual([start + 110]);
  batcher.destroy();
});

// Root cause: items that went back to the queue were not compared with the oldest queued item.
test('an item that a backend has not started is rejected on time behind younger ones', async () => {
  const a = new GatedBackend('a');
  const curve = [{ cost: 4, durationMs: 10 }];
  const { batcher, clock } = placed([a], {
    maxBatchSize: 4,
    targetLatencyMs: TARGET_MS,
    curve,
    concurrency: 1,
  });
  const rejectedAt: number[] = [];
  const ignored = { resolve() {}, reject() {} };
  batcher.enqueue(0, ignored);
  batcher.enqueue(1, { resolve() {}, reject: () => void rejectedAt.push(clock.now()) }, { waitedMs: 900 });
  await clock.advance(50);
  batcher.enqueue(2, ignored);
  await clock.advance(1);
  a.isUnavailable = true;
  batcher.backends.setHealth('a', false);
  a.fail(notStarted('a'));
  await clock.advance(300);
  expect(rejectedAt).toEqual([110]);
  batcher.destroy();
});
