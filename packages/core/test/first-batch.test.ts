import { Batcher, VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import { Gate } from './support/gate.js';
import { outcomeOf } from './support/outcome.js';

test('items of one event-loop turn are dispatched in one batch, and each caller gets its own result', async () => {
  const clock = new VirtualClock();
  const gate = new Gate<number, string>();
  const batcher = new Batcher(gate.handler, { clock });
  const outcomes = [1, 2, 3].map((item) => outcomeOf(batcher.submit(item)));
  await clock.advance(0);
  expect(gate.batches).toEqual([[1, 2, 3]]);
  gate.call(0).answer(['one', 'two', 'three']);
  await clock.advance(0);
  expect(outcomes.map(({ value }) => value)).toEqual(['one', 'two', 'three']);
  expect(batcher.stats()).toMatchObject({ submitted: 3, succeeded: 3, queued: 0, running: 0 });
});
