/** Admitted items that miss the target are rejected by a timer, whatever the policy looks at meanwhile. */
import { adaptive, greedy, window } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { type Arrival, Driven, type Fate } from './support/driven.js';
import { gated } from './support/gate.js';

const TARGET_MS = 1000;
const BATCH_MS = 50;
/** The sweeps have an interval of 1/32 of the limit. */
const LATEST_MS = (TARGET_MS + BATCH_MS) * (1 + 1 / 32) + 1;

const policies = { adaptive, greedy, window: () => window({ maxWaitMs: 5 }) };

/** How long each rejected item had to wait for its rejection. */
function rejectedAfterMs(fates: Iterable<Fate>): number[] {
  return [...fates].filter(({ code }) => code === 'OVERLOADED').map((fate) => fate.endedAt - fate.arrival.at);
}

describe.each(Object.entries(policies))('with policy %s', (_, policy) => {
  // Root cause: only the policy rejected late items, when their turn came. While higher priorities kept coming, the
  // turn of lower ones came many targets later.
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
    const honest: Arrival[] = [];
    for (let i = 0; i < 1000; i++) {
      // The others alone are more than the backend can serve.
      driven.arrive(others);
      if (i % 10 === 0) honest.push(driven.arrive());
      await clock.advance(BATCH_MS / 16);
    }
    await clock.advance(10 * TARGET_MS);

    const fates = honest.map((arrival) => driven.fates.get(arrival));
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

test('without a target, or with admission off, a queued item waits as long as it takes', async () => {
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

test('a closing batcher answers what it has accepted, however late', async () => {
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
