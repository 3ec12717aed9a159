/** A policy for a queue of which only the head is in this process. */
import {
  Batcher,
  type CompletedBatch,
  type Decision,
  type Policy,
  type QueueView,
  ServiceCurve,
  Traffic,
  VirtualClock,
} from 'batchwise';
import { expect, test } from 'vitest';
import { type Backlog, BacklogPolicy } from '../src/backlog-policy.js';

interface Seen {
  readonly length: number;
  readonly cost: number;
  readonly ratePerMs: number;
}

class Recorder implements Policy {
  readonly name = 'recorder';
  readonly told: string[] = [];
  readonly seen: Seen[] = [];
  decision: Decision = { action: 'dispatch', count: 1, reason: 'idle' };

  observeArrivals(count: number, at: number): void {
    this.told.push(`${count} at ${at}`);
  }

  observeBatch(batch: CompletedBatch, now: number): void {
    this.told.push(`batch of ${batch.size} ended at ${now}`);
  }

  prepare(now: number): void {
    this.told.push(`prepare at ${now}`);
  }

  decide(view: QueueView, now: number): Decision {
    this.seen.push({ length: view.length, cost: view.cost, ratePerMs: view.traffic.ratePerMs(now) });
    return this.decision;
  }
}

function setUp({ waiting = 0, isGrouped = false, canFetch = true } = {}) {
  const recorder = new Recorder();
  const wanted: number[] = [];
  let fetches = 0;
  const backlog: Backlog & { waiting: number } = {
    waiting,
    wants: (count) => wanted.push(count),
    fetch() {
      fetches += 1;
      return canFetch;
    },
  };
  const policy = new BacklogPolicy(recorder, backlog, isGrouped);
  return { recorder, backlog, policy, wanted, fetches: () => fetches };
}

function viewOf(length: number, { maxBatchSize = 64, cost = length } = {}): QueueView {
  const here = { arrivedAt: (position: number) => 100 + position, costAt: () => cost / length };
  return {
    ...here,
    ...{ length, cost, oldestAt: 100, waitingElsewhere: 0, isGrouped: true, slots: 1, freeSlots: 1 },
    ...{ running: [], backends: [], lastDispatchAt: 0, freeSince: 0, nextDeadline: Number.POSITIVE_INFINITY },
    deadlineAt: (position) => 200 + position,
    earliestDeadline: (count) => 200 + 0 * count,
    limits: {
      ...{ maxBatchSize, targetLatencyMs: Number.POSITIVE_INFINITY },
      ...{ batchSizes: [], timerResolutionMs: 1 },
    },
    curve: new ServiceCurve(),
    traffic: new Traffic(),
  };
}

test('the policy sees the items that are queued in Redis behind those that are here', () => {
  const { recorder, policy } = setUp({ waiting: 90 });
  policy.decide(viewOf(10, { cost: 20 }), 150);
  expect(recorder.seen[0]).toMatchObject({ length: 100, cost: 200 });
});

test('with groups the policy sees only the items of its group that are here', () => {
  const { recorder, policy } = setUp({ waiting: 90, isGrouped: true });
  policy.decide(viewOf(10), 150);
  expect(recorder.seen[0]).toMatchObject({ length: 10, cost: 10 });
});

test('a batch that needs more items than are here waits for a fetch, for up to a second', () => {
  const { recorder, policy, fetches } = setUp({ waiting: 90 });
  recorder.decision = { action: 'dispatch', count: 64, reason: 'full' };
  expect(policy.decide(viewOf(10), 150)).toMatchObject({ action: 'wait', until: 1150 });
  expect(policy.decide(viewOf(30), 160)).toMatchObject({ action: 'wait' });
  expect(fetches()).toBe(2);
  expect(policy.decide(viewOf(30), 1151)).toMatchObject({ action: 'dispatch', count: 30 });
  expect(fetches()).toBe(2);
  // The next one may wait again.
  expect(policy.decide(viewOf(10), 1180)).toMatchObject({ action: 'wait', until: 2180 });
});

test('while Redis was not asked, items wait for a fetch even beyond maxWaitMs', () => {
  const { backlog, recorder, fetches } = setUp();
  const stale = { ...backlog, isStale: true };
  const policy = new BacklogPolicy(recorder, stale, false, 10);
  expect(policy.decide(viewOf(10), 150)).toMatchObject({ action: 'wait', until: 1150 });
  expect(recorder.seen).toEqual([]);
  expect(fetches()).toBe(1);
  stale.isStale = false;
  recorder.decision = { action: 'wait', until: 1000 };
  expect(policy.decide(viewOf(10), 150)).toMatchObject({ action: 'dispatch', count: 10, reason: 'window' });
});

test('when nothing can be fetched, the items that are here are dispatched at once', () => {
  const { recorder, policy } = setUp({ waiting: 90, canFetch: false });
  recorder.decision = { action: 'dispatch', count: 64, reason: 'full' };
  expect(policy.decide(viewOf(10), 150)).toMatchObject({ action: 'dispatch', count: 10, reason: 'full' });
});

test('a batch that is full by its cost is dispatched, however many items the policy named', () => {
  const { recorder, policy, fetches } = setUp({ waiting: 90 });
  recorder.decision = { action: 'dispatch', count: 64, reason: 'full' };
  expect(policy.decide(viewOf(10, { cost: 64 }), 150)).toMatchObject({ action: 'dispatch', count: 10 });
  expect(fetches()).toBe(0);
});

test('the next fetch is of as many items as the policy cut a batch to, or of all', () => {
  const { recorder, policy, wanted } = setUp({ waiting: 90 });
  recorder.decision = { action: 'dispatch', count: 8, reason: 'full' };
  policy.decide(viewOf(10), 150);
  recorder.decision = { action: 'dispatch', count: 100, reason: 'full' };
  policy.decide(viewOf(10), 151);
  expect(wanted).toEqual([8, Number.POSITIVE_INFINITY]);
});

test('arrivals are observed at the time when they reached Redis, in order with the ends of batches', () => {
  const { recorder, policy } = setUp();
  const batch: CompletedBatch = { size: 3, cost: 3, startedAt: 100, durationMs: 20, callers: 3 };
  policy.observeBatch(batch, 120);
  policy.arrived([105, 105, 118, 121, 122]);
  expect(recorder.told).toEqual(['2 at 105', '1 at 118', 'batch of 3 ended at 120', '1 at 121', '1 at 122']);
});

test('the policy observes every batch that has ended before it decides', () => {
  const { recorder, policy } = setUp();
  policy.observeBatch({ size: 3, cost: 3, startedAt: 100, durationMs: 20, callers: 3 }, 120);
  policy.decide(viewOf(1), 130);
  expect(recorder.told).toEqual(['batch of 3 ended at 120']);
  // What came before and is told after that counts as having come then: time never goes back.
  policy.arrived([119]);
  expect(recorder.told.at(-1)).toBe('1 at 120');
});

test('the traffic that the policy sees is that of Redis, not that of fetches', () => {
  const { recorder, policy } = setUp();
  policy.arrived(Array.from({ length: 200 }, (_, i) => i * 2));
  policy.decide(viewOf(1), 400);
  expect(recorder.seen[0]?.ratePerMs).toBeCloseTo(0.5, 1);
});

test('only items that are here are rejected', () => {
  const { recorder, policy } = setUp({ waiting: 90 });
  recorder.decision = { action: 'reject', positions: [0, 3, 9, 10, 99] };
  expect(policy.decide(viewOf(10), 150)).toEqual({ action: 'reject', positions: [0, 3, 9] });
  recorder.decision = { action: 'reject', positions: [10, 99] };
  expect(policy.decide(viewOf(10), 151)).toMatchObject({ action: 'wait' });
});

test('the policy computes ahead between decisions', () => {
  const { recorder, policy } = setUp();
  policy.prepare(150);
  expect(recorder.told).toEqual(['prepare at 150']);
});

test('whatever the policy decides, no item is held beyond maxWaitMs after it reached Redis', async () => {
  const { recorder, policy } = setUp();
  recorder.decision = { action: 'wait', until: Number.POSITIVE_INFINITY };
  const clock = new VirtualClock();
  const starts: number[] = [];
  const handler = (items: number[]) => {
    starts.push(clock.now());
    return items;
  };
  await using batcher = new Batcher(handler, { clock, policy, maxWaitMs: 100 });
  const fetched = batcher.submit(1, { waitedMs: 60 });
  await clock.advance(200);
  expect(await fetched).toBe(1);
  expect(starts).toEqual([40]);
});

// Optional members of the inner policy were lost: groups under overload were dispatched by age.
test('the inner policy chooses between groups', () => {
  const { backlog } = setUp();
  const inner: Policy = { name: 'last', decide: () => ({ action: 'wait', until: 1 }), nextGroup: () => 1 };
  const group = { cost: 1, deadline: 10, curve: new ServiceCurve() };
  expect(new BacklogPolicy(inner, backlog, true).nextGroup?.([group, group], 1, 0)).toBe(1);
  const { policy } = setUp();
  expect(policy.nextGroup).toBeUndefined();
});
