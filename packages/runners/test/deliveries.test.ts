import { VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import { createFunctionRunner, type RunnerSink } from '../src/index.js';
import { enqueue } from './support/runner-outcome.js';
import { settingsWith } from './support/settings.js';

/** Records events in order: `start 3` when a batch of three starts, `delivered 7` when the caller of 7 has its result. */
function running() {
  const clock = new VirtualClock();
  const events: string[] = [];
  const runner = createFunctionRunner<number, number>({
    name: 'echo',
    handler: async (items) => {
      events.push(`start ${items.length}`);
      await new Promise<void>((resolve) => clock.setTimer(resolve, 4));
      return items;
    },
    settings: settingsWith({ batching: { maxBatchSize: 64, policy: 'greedy' } }),
    clock,
  });
  const submit = (item: number, onAnswer = () => {}) => {
    const sink: RunnerSink<number> = {
      resolve: () => {
        events.push(`delivered ${item}`);
        onAnswer();
      },
      reject: (error) => events.push(`failed ${item}: ${error.message}`),
    };
    return runner.enqueue(item, sink);
  };
  return { clock, runner, events, submit };
}

test('the next batch is dispatched before the results of the last one are delivered', async () => {
  const { clock, events, submit } = running();
  submit(1);
  await clock.settle();
  submit(2);
  await clock.advance(4);
  expect(events).toEqual(['start 1', 'start 1', 'delivered 1']);
});

test('callers that submit again join a batch while other results are still being delivered', async () => {
  const { clock, events, submit } = running();
  for (let item = 0; item < 40; item++) submit(item, () => submit(100 + item));
  await clock.advance(4);
  const delivered = events.filter((event) => event.startsWith('delivered'));
  expect(delivered).toEqual(Array.from({ length: 40 }, (_, item) => `delivered ${item}`));
  const secondStart = events.findIndex((event, i) => i > 0 && event.startsWith('start'));
  expect(secondStart).toBeGreaterThan(events.indexOf('delivered 0'));
  expect(secondStart).toBeLessThan(events.indexOf('delivered 39'));
});

test('a result that arrived before the caller cancelled is delivered', async () => {
  const { clock, runner, events, submit } = running();
  const tickets = Array.from({ length: 40 }, (_, item) => submit(item, () => tickets[39]?.cancel()));
  await clock.advance(4);
  expect(events.filter((event) => event.endsWith(' 39'))).toEqual(['delivered 39']);
  expect(runner.stats()).toMatchObject({ succeeded: 40, cancelled: 0 });
});

test('all results are delivered before a runner is closed', async () => {
  const { clock, runner } = running();
  const outcomes = Array.from({ length: 40 }, (_, item) => enqueue(runner, item));
  let toldAtEnd = 0;
  const closed = runner.close().then(() => {
    toldAtEnd = outcomes.filter(({ settled }) => settled === 1).length;
  });
  await clock.advance(4);
  await closed;
  expect(toldAtEnd).toBe(40);
});
