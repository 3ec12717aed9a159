/** Nexus plans a batch size, and drops heads that are in the way of it. */
import { peer, simulate } from '@batchwise/arena';
import { expect, test } from 'vitest';
import { shownQueue } from '../support/shown-queue.js';
import { traceScenario } from '../support/trace-scenario.js';

const nexus = (targetMs: number) => peer('nexus').policy(traceScenario([0], () => 1, { targetMs }));

/** T(b) = 10 + b. */
const curve = Array.from({ length: 8 }, (_, i) => ({ cost: i + 1, durationMs: 11 + i }));
const zeros = (count: number) => Array.from({ length: count }, () => 0);

test('the plan is the largest batch of which two fit into the target', () => {
  const view = shownQueue({ arrivedAt: zeros(12), maxBatchSize: 8, curve, ratePerMs: 0.1 });
  expect(nexus(30).decide(view, 0)).toMatchObject({ action: 'dispatch', count: 5, refuse: 0 });
});

test('when that does not keep up with the arrivals, it is the largest that fits at all', () => {
  const view = shownQueue({ arrivedAt: zeros(12), maxBatchSize: 8, curve, ratePerMs: 0.5 });
  expect(nexus(30).decide(view, 0)).toMatchObject({ action: 'dispatch', count: 8, refuse: 0 });
});

test('when not even two of one item fit, it is the largest that fits at all', () => {
  const view = shownQueue({ arrivedAt: zeros(12), maxBatchSize: 8, curve, ratePerMs: 0.01 });
  expect(nexus(15).decide(view, 0)).toMatchObject({ action: 'dispatch', count: 5, refuse: 0 });
});

test('heads for whom the planned batch is too late are dropped, and no further is looked', () => {
  const view = shownQueue({
    arrivedAt: [0, 0, 0, 12, 12, 12, 12, 12, 12],
    maxBatchSize: 8,
    curve,
    ratePerMs: 0.1,
  });
  // A batch of 5 from 16 on ends at 31: too late for those with deadline 30, not for those with 42.
  expect(nexus(30).decide(view, 16)).toMatchObject({ action: 'dispatch', count: 5, refuse: 3 });
  expect(view.lookedAt).toBe(3);
});

test('a head that is in time in the smaller batch which waits is kept', () => {
  const view = shownQueue({ arrivedAt: [0, 1], maxBatchSize: 8, curve, ratePerMs: 0.1 });
  expect(nexus(30).decide(view, 16)).toMatchObject({ action: 'dispatch', count: 2, refuse: 0 });
});

test('when nobody can be in time any more, all are dropped', () => {
  const view = shownQueue({ arrivedAt: [0, 1], maxBatchSize: 8, curve, ratePerMs: 0.1 });
  expect(nexus(30).decide(view, 25)).toMatchObject({ action: 'wait', refuse: 2 });
});

test('as long as nothing is known of the backend, all that fits leaves', () => {
  const view = shownQueue({ arrivedAt: zeros(12), maxBatchSize: 8 });
  expect(nexus(30).decide(view, 0)).toMatchObject({ action: 'dispatch', count: 8, refuse: 0 });
});

test('without a target it is greedy', async () => {
  const scenario = traceScenario([0, 0, 3, 4, 5, 6, 7, 8, 40, 41], (size) => 5 + size);
  const [dropped, greedy] = [
    await simulate(scenario, peer('nexus')),
    await simulate(scenario, peer('greedy')),
  ];
  expect(dropped.latencyMs).toEqual(greedy.latencyMs);
});

test('under more load than it can bear, those it answers are in time once it knows the backend', async () => {
  const times = Array.from({ length: 3000 }, (_, i) => i * 0.5);
  const run = await simulate(
    traceScenario(times, (size) => 4 + size, { targetMs: 30, maxBatchSize: 16 }),
    peer('nexus'),
  );
  const answered = run.latencyMs.filter((ms) => !Number.isNaN(ms));
  expect(answered.slice(100).filter((ms) => ms > 30.001)).toHaveLength(0);
  expect(answered.length).toBeGreaterThan(1100);
  expect(run.refused).toBe(3000 - answered.length);
});
