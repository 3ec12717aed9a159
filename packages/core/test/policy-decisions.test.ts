/** The effects of each decision, and when the methods of a policy are called. */
import { Batcher, type BatchwiseError, greedy, type Policy, VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import { expectRest } from './support/books.js';
import { deciding, forever, positionsOf } from './support/deciding.js';
import { Gate } from './support/gate.js';
import { outcomeOf } from './support/outcome.js';
import { RecordingSink } from './support/recording-sink.js';

test('rejected items get OVERLOADED with retryAfterMs, and the policy decides about the rest', async () => {
  for (const looks of [false, true]) {
    const { clock, gate, batcher, submit } = deciding((view) => {
      if (looks) positionsOf(view);
      if (view.length > 3) return { action: 'reject', positions: [0, 1] };
      return { action: 'dispatch', count: 2, reason: 'deadline' };
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

test('the retryAfterMs of items that are rejected together are spread over the duration of a batch', async () => {
  const { clock, submit } = deciding(() => ({ action: 'reject', positions: [0, 1, 2, 3] }), {
    maxBatchSize: 4,
    curve: [
      { cost: 1, durationMs: 20 },
      { cost: 4, durationMs: 40 },
    ],
  });
  const outcomes = submit(1, 2, 3, 4);
  await clock.advance(0);
  const times = outcomes.map(({ error }) => (error as BatchwiseError).retryAfterMs as number);
  expect(times.map((ms) => ms - (times[0] as number))).toEqual([0, 10, 20, 30]);
});

test('items at any positions can be rejected, in any order, and the others are not', async () => {
  const { clock, gate, batcher, submit } = deciding((view) =>
    view.length === 6
      ? { action: 'reject', positions: [5, 0, 3] }
      : { action: 'dispatch', count: view.length, reason: 'idle' },
  );
  const outcomes = submit(1, 2, 3, 4, 5, 6);
  await clock.advance(0);
  expect(gate.batches).toEqual([[2, 3, 5]]);
  expect(outcomes.map(({ code }) => code)).toEqual([
    ...['OVERLOADED', undefined, undefined],
    ...['OVERLOADED', undefined, 'OVERLOADED'],
  ]);
  gate.call(0).answer([2, 3, 5]);
  await clock.advance(0);
  expect(batcher.stats()).toMatchObject({ refused: 3, succeeded: 3 });
  expectRest(batcher);
});

test('a position that is given twice is rejected once', async () => {
  const sink = new RecordingSink<number>();
  const { clock, batcher } = deciding((view) =>
    view.length === 2 ? { action: 'reject', positions: [1, 1] } : forever,
  );
  void batcher.submit(1).catch(() => {});
  batcher.enqueue(2, sink);
  await clock.advance(0);
  expect([sink.fate, sink.settled]).toEqual(['OVERLOADED', 1]);
  expect(batcher.stats()).toMatchObject({ refused: 1, queued: 1 });
});

test('after a rejection the policy decides again at the end of the turn, and sees the new items of rejected callers', async () => {
  const seen: number[] = [];
  const { clock, decidedAt, batcher, submit } = deciding((view) => {
    seen.push(view.length);
    return seen.length === 1 ? { action: 'reject', positions: [0] } : forever;
  });
  batcher.submit(1).catch(() => submit(7, 8));
  submit(2);
  await clock.advance(5);
  // The next decision needs no arrival and no end of a batch.
  expect(seen).toEqual([2, 3]);
  expect(decidedAt).toEqual([0, 0]);
});

test('after a rejection the policy decides about the remaining items without another event', async () => {
  const { clock, gate, submit } = deciding((view) =>
    view.length === 3
      ? { action: 'reject', positions: [0] }
      : { action: 'dispatch', count: 2, reason: 'deadline' },
  );
  submit(1, 2, 3);
  await clock.advance(0);
  expect(gate.batches).toEqual([[2, 3]]);
});

test('rejecting an item that callers share rejects all of them', async () => {
  const { clock, batcher } = deciding(() => ({ action: 'reject', positions: [0] }), {
    dedupeBy: () => 'same',
  });
  const outcomes = [1, 2].map((item) => outcomeOf(batcher.submit(item)));
  await clock.advance(0);
  expect(outcomes.map(({ code }) => code)).toEqual(['OVERLOADED', 'OVERLOADED']);
  expectRest(batcher);
});

test('prepare() is called after the decisions and dispatches of a turn', async () => {
  const events: string[] = [];
  const clock = new VirtualClock();
  const policy: Policy = {
    name: 'computing',
    decide: (view) => {
      events.push('decide');
      return { action: 'dispatch', count: view.length, reason: 'idle' };
    },
    prepare: (now) => void events.push(`prepare at ${now}`),
  };
  const handler = (items: number[]) => {
    events.push('dispatch');
    return items;
  };
  const batcher = new Batcher(handler, { clock, policy });
  await clock.advance(3);
  void batcher.submit(1);
  await clock.advance(0);
  expect(events.slice(0, 3)).toEqual(['decide', 'dispatch', 'prepare at 3']);
  expectRest(batcher);
});

test('after a dispatch of a part of the queue the policy decides again at once, while slots are free', async () => {
  const { clock, gate, decidedAt, submit } = deciding(
    () => ({ action: 'dispatch', count: 2, reason: 'idle' }),
    {
      concurrency: 2,
    },
  );
  submit(1, 2, 3, 4, 5);
  await clock.advance(0);
  expect(gate.batches).toEqual([
    [1, 2],
    [3, 4],
  ]);
  expect(decidedAt).toEqual([0, 0]);
});

test('a policy that holds decides again on an arrival, at the end of a batch, and at the end of its hold', async () => {
  const { clock, gate, decidedAt, submit } = deciding(
    (_, now) =>
      now === 3 ? { action: 'dispatch', count: 1, reason: 'idle' } : { action: 'wait', until: 50 + now },
    { concurrency: 2 },
  );
  submit(1);
  await clock.advance(3);
  submit(2); // an arrival, at 3: two batches of one, and both slots are busy
  await clock.advance(7);
  expect(decidedAt).toEqual([0, 3, 3]);
  submit(3); // no slot is free: no decision
  await clock.advance(10);
  expect(decidedAt).toEqual([0, 3, 3]);
  gate.call(0).answer([1]); // a batch ends, at 20
  await clock.advance(10);
  expect(decidedAt).toEqual([0, 3, 3, 20]);
  gate.call(1).answer([2]); // another, at 30
  await clock.advance(49);
  expect(decidedAt).toEqual([0, 3, 3, 20, 30]);
  await clock.advance(1); // the end of the hold
  expect(decidedAt).toEqual([0, 3, 3, 20, 30, 80]);
});

test('a policy observes arrivals once per turn, and each batch that succeeded', async () => {
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
  gate.call(0).fail(new Error('one of them')); // a failed batch is not observed
  await clock.advance(3);
  gate.call(1).answer([1]);
  await clock.advance(0);
  expect(batches).toEqual([{ size: 1, cost: 2, startedAt: 10, durationMs: 3, now: 13 }]);
  batcher.destroy();
});
