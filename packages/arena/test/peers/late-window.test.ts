/** Triton: a batch grows until a slot is free, and only then its age is compared with the delay. */
import { formulaCurve, peer, poisson, recorded, type Scenario, simulate } from '@batchwise/arena';
import { expect, test } from 'vitest';
import { shownQueue } from '../support/shown-queue.js';
import { traceScenario } from '../support/trace-scenario.js';

const triton2 = () => peer('triton-2').policy(traceScenario([0], () => 1));

test('a single item waits for the delay', () => {
  const view = shownQueue({ arrivedAt: [5] });
  expect(triton2().decide(view, 5)).toMatchObject({ action: 'wait', until: 7 });
  expect(triton2().decide(view, 7)).toMatchObject({ action: 'dispatch', count: 1 });
});

test('a full batch is dispatched at once', () => {
  const view = shownQueue({ arrivedAt: [5, 5, 5, 5] });
  expect(triton2().decide(view, 5)).toMatchObject({ action: 'dispatch', count: 4, reason: 'full' });
});

test('items that arrive while the slot is busy are dispatched together, even long after the delay', async () => {
  const run = await simulate(
    traceScenario([0, 3, 6, 9], () => 10),
    peer('triton-2'),
  );
  expect(run.batches.map(({ startedAt, size }) => [startedAt, size])).toEqual([
    [2, 1],
    [12, 3],
  ]);
});

test('with no delay the batches equal those of greedy', async () => {
  const curve = formulaCurve('5 + 0.1b', 16, (b) => 5 + 0.1 * b);
  for (const slots of [1, 2]) {
    for (const arrivals of [poisson(0.5), poisson(2), recorded('burst', [0, 0, 0, 1, 1, 9, 30])]) {
      const scenario: Scenario = {
        ...traceScenario([], () => 1),
        curve,
        slots,
        arrivals,
        items: 2000,
        noise: 0.1,
      };
      const [none, greedy] = [
        await simulate(scenario, peer('triton-0')),
        await simulate(scenario, peer('greedy')),
      ];
      const startsOf = ({ batches }: typeof none) =>
        batches.map(({ startedAt, size }) => `${size} at ${startedAt}`);
      expect(startsOf(none)).toEqual(startsOf(greedy));
      expect(none.latencyMs).toEqual(greedy.latencyMs);
    }
  }
});
