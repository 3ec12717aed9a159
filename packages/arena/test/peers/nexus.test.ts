/** Nexus: a planned batch size, and early drop at the head. */
import { peer, simulate } from '@batchwise/arena';
import { expect, test } from 'vitest';
import { answerTo, shownQueue } from '../support/shown-queue.js';
import { traceScenario } from '../support/trace-scenario.js';

const nexus = (targetLatencyMs: number) =>
  peer('nexus').policy(traceScenario([0], () => 1, { targetLatencyMs }));

/** T(b) = 10 + b. */
const curve = Array.from({ length: 8 }, (_, i) => ({ cost: i + 1, durationMs: 11 + i }));
const zeros = (count: number) => Array.from({ length: count }, () => 0);

test('the planned size is the largest with 2·T(b) within the target', () => {
  const view = shownQueue({ arrivedAt: zeros(12), maxBatchSize: 8, curve, ratePerMs: 0.1 });
  expect(nexus(30).decide(view, 0)).toMatchObject({ action: 'dispatch', count: 5 });
});

test('if that does not keep up with the arrivals, it is the largest with T(b) within the target', () => {
  const view = shownQueue({ arrivedAt: zeros(12), maxBatchSize: 8, curve, ratePerMs: 0.5 });
  expect(nexus(30).decide(view, 0)).toMatchObject({ action: 'dispatch', count: 8 });
});

test('if 2·T(1) exceeds the target, it is the largest with T(b) within the target', () => {
  const view = shownQueue({ arrivedAt: zeros(12), maxBatchSize: 8, curve, ratePerMs: 0.01 });
  expect(nexus(15).decide(view, 0)).toMatchObject({ action: 'dispatch', count: 5 });
});

test('items at the head that are late in the planned batch are dropped, and no further items are read', () => {
  const shown = {
    arrivedAt: [0, 0, 0, 12, 12, 12, 12, 12, 12],
    maxBatchSize: 8,
    curve,
    ratePerMs: 0.1,
  };
  const view = shownQueue(shown);
  // A batch of 5 from 16 on ends at 31: too late for deadline 30, not for 42.
  expect(nexus(30).decide(view, 16)).toEqual({ action: 'reject', positions: [0, 1, 2] });
  expect(view.lookedAt).toBe(3);
  expect(answerTo(nexus(30), shown, 16)).toMatchObject({ decision: { action: 'dispatch', count: 5 } });
});

test('a head that is on time in the smaller batch in the queue is kept', () => {
  const view = shownQueue({ arrivedAt: [0, 1], maxBatchSize: 8, curve, ratePerMs: 0.1 });
  expect(nexus(30).decide(view, 16)).toMatchObject({ action: 'dispatch', count: 2 });
});

test('if no item can be on time, all are dropped', () => {
  const view = shownQueue({ arrivedAt: [0, 1], maxBatchSize: 8, curve, ratePerMs: 0.1 });
  expect(nexus(30).decide(view, 25)).toEqual({ action: 'reject', positions: [0, 1] });
});

test('before the first batch, everything that fits is dispatched', () => {
  const view = shownQueue({ arrivedAt: zeros(12), maxBatchSize: 8 });
  expect(nexus(30).decide(view, 0)).toMatchObject({ action: 'dispatch', count: 8 });
});

test('without a target it is greedy', async () => {
  const scenario = traceScenario([0, 0, 3, 4, 5, 6, 7, 8, 40, 41], (size) => 5 + size);
  const [dropped, greedy] = [
    await simulate(scenario, peer('nexus')),
    await simulate(scenario, peer('greedy')),
  ];
  expect(dropped.latencyMs).toEqual(greedy.latencyMs);
});

test('under overload, its responses are on time after it has learned the backend', async () => {
  const times = Array.from({ length: 3000 }, (_, i) => i * 0.5);
  const run = await simulate(
    traceScenario(times, (size) => 4 + size, { targetLatencyMs: 30, maxBatchSize: 16 }),
    peer('nexus'),
  );
  const answered = run.latencyMs.filter((ms) => !Number.isNaN(ms));
  expect(answered.slice(100).filter((ms) => ms > 30.001)).toHaveLength(0);
  expect(answered.length).toBeGreaterThan(1100);
  expect(run.refused).toBe(3000 - answered.length);
});
