/** BentoML: a line fitted to the last batches, a poll every millisecond, holding, and shedding of the head. */

import { peer, simulate } from '@batchwise/arena';
import type { Policy } from 'batchwise';
import { expect, test } from 'vitest';
import { answerTo, ended, type Shown, shownQueue } from '../support/shown-queue.js';
import { traceScenario } from '../support/trace-scenario.js';

const dispatchOf = (count: number) => ({ action: 'dispatch', count });
const bentoml = (targetLatencyMs: number) =>
  peer('bentoml').policy(traceScenario([0], () => 1, { targetLatencyMs }));

/** A policy trained on batches of n with a duration of 10 + n ms, of which the newest item waited `waitMs`. */
function trained(targetLatencyMs: number, waitMs = 0, shown: Partial<Shown> = {}): Policy {
  const policy = bentoml(targetLatencyMs);
  [1, 1, 1, 2, 3].forEach((size, i) => {
    const now = -1000 + 20 * i;
    const arrivedAt = Array.from({ length: size }, () => now - waitMs);
    expect(policy.decide(shownQueue({ arrivedAt, ...shown }), now)).toMatchObject({
      action: 'dispatch',
      count: size,
    });
    policy.observeBatch?.(ended(size, 10 + size, now), now + 10 + size);
  });
  return policy;
}

test('the policy trains on batches of one, two and three', async () => {
  const run = await simulate(
    traceScenario(
      Array.from({ length: 30 }, () => 0),
      (size) => 10 + size,
      { maxBatchSize: 16 },
    ),
    peer('bentoml'),
  );
  expect(run.batches.map(({ size }) => size)).toEqual([1, 1, 1, 2, 3, 16, 6]);
});

test('the head is shed if its age plus the fitted duration of the queue reaches the target', () => {
  const shown = { arrivedAt: [0, 1, 2] };
  // Latency of the head would be 8 + 3 + 10 ms, without it that of the next item 7 + 2 + 10 ms.
  expect(answerTo(trained(20), shown, 8)).toMatchObject({ rejected: 1, decision: dispatchOf(2) });
  expect(answerTo(trained(21.5), shown, 8)).toMatchObject({ rejected: 0, decision: dispatchOf(3) });
});

test('the last item of the queue is never shed', () => {
  expect(answerTo(trained(20), { arrivedAt: [0, 0, 0] }, 50)).toMatchObject({
    rejected: 2,
    decision: dispatchOf(1),
  });
});

test('the policy holds while n·(age of the newest + 1 ms + a) ≤ 0.95·(average wait)', () => {
  const policy = trained(1000, 20); // 0.95·20 = 19, and a = 1
  const one = shownQueue({ arrivedAt: [0] });
  expect(policy.decide(one, 0)).toMatchObject({ action: 'wait', until: 1 });
  expect(policy.decide(one, 16)).toMatchObject({ action: 'wait', until: 17 });
  expect(policy.decide(one, 18)).toMatchObject({ action: 'dispatch', count: 1 });
  const three = shownQueue({ arrivedAt: [0, 0, 3] });
  expect(trained(1000, 20).decide(three, 7)).toMatchObject({ action: 'wait', until: 8 });
  expect(trained(1000, 20).decide(three, 8)).toMatchObject({ action: 'dispatch', count: 3 });
  expect(three.lookedAt).toBe(0);
});

test('a full batch is not held', () => {
  const view = shownQueue({ arrivedAt: [0, 0, 0, 0] });
  expect(trained(1000, 500).decide(view, 0)).toMatchObject({ action: 'dispatch', count: 4 });
});

test('the policy polls every millisecond, independent of events', () => {
  const policy = trained(1000, 20);
  expect(policy.decide(shownQueue({ arrivedAt: [0.25] }), 0.25)).toMatchObject({ until: 1.25 });
  expect(policy.decide(shownQueue({ arrivedAt: [0.25, 0.5] }), 0.5)).toMatchObject({ until: 1.25 });
  // A timer that fires late: the next millisecond is counted from then.
  expect(policy.decide(shownQueue({ arrivedAt: [0.25, 0.5] }), 1.75)).toMatchObject({ until: 2.75 });
});

test('a freed slot is noticed at the next poll', async () => {
  const run = await simulate(
    traceScenario([0, 2.25], () => 10),
    peer('bentoml'),
  );
  expect(run.batches.map(({ startedAt }) => startedAt)).toEqual([0, 10.25]);
});

test('a batch dispatched before its arrivals are recorded has a queue wait of 0', () => {
  // A full batch is dispatched within the turn, before the estimator has recorded its arrivals.
  const policy = trained(1000, 0, { isRecorded: false });
  expect(policy.decide(shownQueue({ arrivedAt: [0] }), 0)).toMatchObject({ action: 'dispatch', count: 1 });
});

test('the line is fitted again after 5 s at the earliest', () => {
  const policy = trained(100);
  const head = () => answerTo(policy, { arrivedAt: [0, 0, 0] }, 0);
  for (let i = 0; i < 60; i++) policy.observeBatch?.(ended(2, 200, 0), 3000);
  expect(head()).toMatchObject({ rejected: 0 });
  policy.observeBatch?.(ended(2, 200, 0), 5000);
  expect(head()).toMatchObject({ rejected: 2 });
});

test('batches before the last 50 do not count', () => {
  const policy = trained(16);
  // Durations of 10 + n, but all of one size: n·4.8 + 2.4 fits as well.
  for (let i = 0; i < 50; i++) policy.observeBatch?.(ended(2, 12, 0), 5000);
  policy.observeBatch?.(ended(2, 12, 0), 10_000);
  expect(answerTo(policy, { arrivedAt: [0, 0, 0] }, 0)).toMatchObject({
    rejected: 1,
    decision: dispatchOf(2),
  });
});

test('during training, only items past the target are shed', () => {
  const shown = { arrivedAt: Array.from({ length: 30 }, () => 0) };
  expect(answerTo(bentoml(20), shown, 19)).toMatchObject({ rejected: 0, decision: dispatchOf(1) });
  expect(answerTo(bentoml(20), shown, 20)).toMatchObject({ rejected: 29, decision: dispatchOf(1) });
});

test('without a target nothing is shed', () => {
  expect(answerTo(trained(Number.POSITIVE_INFINITY), { arrivedAt: [0, 0, 0] }, 1e6)).toMatchObject({
    rejected: 0,
    decision: dispatchOf(3),
  });
});
