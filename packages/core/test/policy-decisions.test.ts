/** What the decisions of a policy do, and when it is asked and told. */
import { Batcher, greedy, type Policy, VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import { expectRest } from './support/books.js';
import { deciding, forever, positionsOf } from './support/deciding.js';
import { Gate } from './support/gate.js';
import { outcomeOf } from './support/outcome.js';

test('refuse: the first few are turned away with OVERLOADED and retryAfterMs, those behind them leave', async () => {
  for (const looks of [false, true]) {
    const { clock, gate, batcher, submit } = deciding((view) => {
      if (looks) positionsOf(view);
      return { action: 'dispatch', count: 2, reason: 'deadline', refuse: view.length > 2 ? 2 : 0 };
    });
    const outcomes = submit(1, 2, 3, 4, 5);
    await clock.advance(0);
    expect(gate.batches).toEqual([[3, 4]]);
    expect(outcomes.map(({ code, state }) => code ?? state)).toEqual([
      'OVERLOADED',
      'OVERLOADED',
      'pending',
      'pending',
      'pending',
    ]);
    expect(outcomes[0]?.error).toMatchObject({ retryAfterMs: expect.any(Number) });
    expect(batcher.stats()).toMatchObject({ refused: 2, refusals: { OVERLOADED: 2 }, queued: 1, running: 2 });
    gate.call(0).answer([3, 4]);
    await clock.advance(0);
    gate.call(1).answer([5]);
    await clock.advance(0);
    expectRest(batcher);
  }
});

test('refuse and wait: the first few are turned away, the others go on waiting', async () => {
  const { clock, batcher, submit } = deciding((view) => ({ ...forever, refuse: view.length === 3 ? 1 : 0 }));
  const outcomes = submit(1, 2, 3);
  await clock.advance(0);
  expect(outcomes.map(({ code, state }) => code ?? state)).toEqual(['OVERLOADED', 'pending', 'pending']);
  expect(batcher.stats()).toMatchObject({ refused: 1, queued: 2, queuedCost: 2 });
});

test('refusing an item that callers share refuses them all', async () => {
  const { clock, batcher } = deciding(() => ({ ...forever, refuse: 1 }), { dedupeBy: () => 'same' });
  const outcomes = [1, 2].map((item) => outcomeOf(batcher.submit(item)));
  await clock.advance(0);
  expect(outcomes.map(({ code }) => code)).toEqual(['OVERLOADED', 'OVERLOADED']);
  expectRest(batcher);
});

test('dispatch fewer than wait: the rest is asked about again at once, while slots are free', async () => {
  const { clock, gate, asked, submit } = deciding(() => ({ action: 'dispatch', count: 2, reason: 'idle' }), {
    concurrency: 2,
  });
  submit(1, 2, 3, 4, 5);
  await clock.advance(0);
  expect(gate.batches).toEqual([
    [1, 2],
    [3, 4],
  ]);
  expect(asked).toEqual([0, 0]);
});

test('a policy that waits is asked again on an arrival, when a batch ends, and at the time it named', async () => {
  const { clock, gate, asked, submit } = deciding(
    (_, now) =>
      now === 3 ? { action: 'dispatch', count: 1, reason: 'idle' } : { action: 'wait', until: 50 + now },
    { concurrency: 2 },
  );
  submit(1);
  await clock.advance(3);
  submit(2); // an arrival, at 3: both leave, one each, and both slots are busy
  await clock.advance(7);
  expect(asked).toEqual([0, 3, 3]);
  submit(3); // no slot is free: nothing to decide
  await clock.advance(10);
  expect(asked).toEqual([0, 3, 3]);
  gate.call(0).answer([1]); // a batch ends, at 20
  await clock.advance(10);
  expect(asked).toEqual([0, 3, 3, 20]);
  gate.call(1).answer([2]); // another, at 30
  await clock.advance(49);
  expect(asked).toEqual([0, 3, 3, 20, 30]);
  await clock.advance(1); // and at the time it named
  expect(asked).toEqual([0, 3, 3, 20, 30, 80]);
});

test('it is told of arrivals once a turn, and of each batch that ended well', async () => {
  const arrivals: [number, number][] = [];
  const batches: unknown[] = [];
  const clock = new VirtualClock();
  const gate = new Gate<number, number>();
  const policy: Policy = {
    ...greedy(),
    observeArrivals: (count, at) => arrivals.push([count, at]),
    observeBatch: ({ size, cost, startedAt, durationMs }, now) =>
      batches.push({ size, cost, startedAt, durationMs, now }),
  };
  const batcher = new Batcher(gate.handler, { clock, policy, costOf: () => 2, isolate: true });
  for (const item of [1, 2, 3]) void batcher.submit(item).catch(() => {});
  await clock.advance(5);
  void batcher.submit(4).catch(() => {});
  await clock.advance(5);
  expect(arrivals).toEqual([
    [3, 0],
    [1, 5],
  ]);
  gate.call(0).fail(new Error('one of them')); // not well: nothing to learn from
  await clock.advance(3);
  gate.call(1).answer([1]);
  await clock.advance(0);
  expect(batches).toEqual([{ size: 1, cost: 2, startedAt: 10, durationMs: 3, now: 13 }]);
  batcher.destroy();
});
