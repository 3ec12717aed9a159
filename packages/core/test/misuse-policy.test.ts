/** Misuse of policies: if one throws or returns an invalid decision, the batcher falls back to greedy dispatch. */
import { Batcher, type BatcherOptions, type Policy, VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import { expectRest } from './support/books.js';
import { Gate } from './support/gate.js';
import { outcomeOf } from './support/outcome.js';

function withPolicy(policy: Partial<Policy> | (() => unknown), options: BatcherOptions<number> = {}) {
  const clock = new VirtualClock();
  const gate = new Gate<number, number>();
  const full = (typeof policy === 'function' ? { name: 'test', decide: policy } : policy) as Policy;
  const batcher = new Batcher(gate.handler, { clock, policy: full, maxBatchSize: 3, ...options });
  return { clock, gate, batcher };
}

const INVALID: [what: string, decision: unknown][] = [
  ['undefined', undefined],
  ['null', null],
  ['a number', 3],
  ['the wrong words', { action: 'send', count: 1 }],
  ['a promise', Promise.resolve({ action: 'dispatch', count: 1, reason: 'idle' })],
  ['an empty object', {}],
  ['a count of 0', { action: 'dispatch', count: 0, reason: 'idle' }],
  ['a count below 0', { action: 'dispatch', count: -1, reason: 'idle' }],
  ['a count that is NaN', { action: 'dispatch', count: NaN, reason: 'idle' }],
  ['a count of 1.5', { action: 'dispatch', count: 1.5, reason: 'idle' }],
  ['a count that is a string', { action: 'dispatch', count: '1', reason: 'idle' }],
  ['no count', { action: 'dispatch', reason: 'idle' }],
  ['no reason', { action: 'dispatch', count: 1 }],
  ['a reason of its own', { action: 'dispatch', count: 1, reason: 'mood' }],
  ['until the past', { action: 'wait', until: -1 }],
  ['until now', { action: 'wait', until: 0 }],
  ['until NaN', { action: 'wait', until: NaN }],
  ['until a string', { action: 'wait', until: '1000' }],
  ['no until', { action: 'wait' }],
  ['a rejection without positions', { action: 'reject' }],
  ['a rejection of no position', { action: 'reject', positions: [] }],
  ['a rejection of a position that is no list', { action: 'reject', positions: 1 }],
  ['a rejection of a position below 0', { action: 'reject', positions: [-1] }],
  ['a rejection of a position beyond the last', { action: 'reject', positions: [0, 2] }],
  ['a rejection of half a position', { action: 'reject', positions: [0.5] }],
  ['a rejection of NaN', { action: 'reject', positions: [NaN] }],
  ['a rejection of Infinity', { action: 'reject', positions: [Infinity] }],
  ['a rejection of a string', { action: 'reject', positions: ['0'] }],
  ['a rejection of a list with a hole', { action: 'reject', positions: new Array(1) }],
];

test.each(INVALID)(
  'an invalid decision, %s, falls back to greedy dispatch and is counted',
  async (_, decision) => {
    const { clock, gate, batcher } = withPolicy(() => decision);
    const outcomes = [1, 2].map((item) => outcomeOf(batcher.submit(item)));
    await clock.advance(0);
    expect(gate.calls.map(({ items, context }) => [items, context.reason])).toEqual([[[1, 2], 'idle']]);
    expect(batcher.stats().policyErrors).toBe(1);
    gate.call(0).answer([1, 2]);
    await clock.advance(0);
    expect(outcomes.map(({ value }) => value)).toEqual([1, 2]);
    expectRest(batcher);
  },
);

test('a policy that throws in decide falls back to greedy dispatch each time, with the right reasons', async () => {
  const { clock, gate, batcher } = withPolicy(
    () => {
      throw new Error('division by zero');
    },
    { concurrency: 5, groupOf: (item) => item > 3 },
  );
  const outcomes = [1, 2, 3, 4].map((item) => outcomeOf(batcher.submit(item)));
  await clock.advance(0);
  expect(gate.calls.map(({ items, context }) => [items, context.reason])).toEqual([
    [[1, 2, 3], 'full'],
    [[4], 'idle'],
  ]);
  expect(batcher.stats().policyErrors).toBe(2);
  for (const { items, answer } of gate.calls) answer(items);
  await clock.advance(0);
  expect(outcomes.map(({ value }) => value)).toEqual([1, 2, 3, 4]);
});

test('a policy that throws in observeArrivals, observeBatch or prepare is counted, without an effect on callers', async () => {
  const throwing = () => {
    throw new Error('forgot how to count');
  };
  const { clock, gate, batcher } = withPolicy({
    name: 'forgetful',
    decide: (view) => ({ action: 'dispatch', count: view.length, reason: 'idle' }),
    observeArrivals: throwing,
    observeBatch: throwing,
    prepare: throwing,
  });
  const outcome = outcomeOf(batcher.submit(1));
  await clock.advance(0);
  gate.call(0).answer([1]);
  await clock.advance(0);
  expect(outcome.value).toBe(1);
  expect(batcher.stats().policyErrors).toBe(3);
  expectRest(batcher);
});

test('a policy that threw once decides again', async () => {
  let broken = true;
  const { clock, gate, batcher } = withPolicy(() => {
    if (broken) throw new Error('not yet');
    return { action: 'dispatch', count: 1, reason: 'deadline' };
  });
  void batcher.submit(1);
  await clock.advance(0);
  broken = false;
  void batcher.submit(2);
  gate.call(0).answer([1]);
  await clock.advance(0);
  expect(gate.calls.map(({ context }) => context.reason)).toEqual(['idle', 'deadline']);
});

test.each([-1, 2, NaN, 0.5, Infinity])(
  'reading position %s of two is an error of the policy',
  async (position) => {
    for (const look of ['arrivedAt', 'costAt', 'deadlineAt'] as const) {
      const { clock, gate, batcher } = withPolicy({
        name: 'blind',
        decide: (view) => ({ action: 'wait', until: view[look](position) + 1000 }),
      });
      void batcher.submit(1);
      void batcher.submit(2);
      await clock.advance(0);
      expect(batcher.stats().policyErrors).toBe(1);
      expect(gate.batches).toEqual([[1, 2]]); // read items are not lost
    }
  },
);

test('a count above the queue length and maxBatchSize is reduced', async () => {
  const { clock, gate, batcher } = withPolicy(() => ({
    action: 'dispatch',
    count: Infinity,
    reason: 'idle',
  }));
  for (const item of [1, 2, 3, 4]) void batcher.submit(item);
  await clock.advance(0);
  gate.call(0).answer([1, 2, 3]);
  await clock.advance(0);
  expect(gate.batches).toEqual([[1, 2, 3], [4]]);
  expect(batcher.stats().policyErrors).toBe(0);
});

test('after a policy has rejected all items, no timer and no item remain', async () => {
  const { clock, gate, batcher } = withPolicy({
    name: 'rejecting',
    decide: (view) => ({ action: 'reject', positions: [...Array(view.length).keys()] }),
  });
  const outcomes = [1, 2].map((item) => outcomeOf(batcher.submit(item)));
  await clock.advance(0);
  expect(outcomes.map(({ code }) => code)).toEqual(['OVERLOADED', 'OVERLOADED']);
  expect(gate.calls).toEqual([]);
  expectRest(batcher);
  expect(clock.pendingTimers).toBe(0);
});

// Root cause: the check accepted any iterable, but only an array could be read.
test.each([
  ['an iterator', () => [0, 1].values() as never],
  ['a position twice', () => [0, 1, 0, 1]],
])('%s of positions rejects each item once', async (_, positions) => {
  const { clock, gate, batcher } = withPolicy({
    name: 'rejecting',
    decide: () => ({ action: 'reject', positions: positions() }),
  });
  const outcomes = [1, 2].map((item) => outcomeOf(batcher.submit(item)));
  await clock.advance(0);
  expect(outcomes.map(({ code }) => code)).toEqual(['OVERLOADED', 'OVERLOADED']);
  expect(gate.calls).toEqual([]);
  expect(batcher.stats()).toMatchObject({ policyErrors: 0 });
  expectRest(batcher);
});

test('a policy that always waits a little cannot hold an item beyond maxWaitMs', async () => {
  const { clock, gate, batcher } = withPolicy(
    { name: 'ditherer', decide: (_, now) => ({ action: 'wait', until: now + 1 }) },
    { maxWaitMs: 20 },
  );
  void batcher.submit(1);
  await clock.advance(19);
  expect(gate.calls).toEqual([]);
  await clock.advance(1);
  expect(gate.calls.map(({ context }) => context.reason)).toEqual(['window']);
});

test('a policy that reads a position beyond the last gets a RangeError, and no item is lost', async () => {
  for (const look of ['costAt', 'arrivedAt', 'deadlineAt'] as const) {
    const { clock, gate, batcher } = withPolicy({
      name: 'far-sighted',
      decide: (view) => ({ action: 'dispatch', count: view[look](1) + view[look](2), reason: 'idle' }),
    });
    for (const item of [1, 2]) void batcher.submit(item);
    await clock.advance(0);
    expect(gate.batches).toEqual([[1, 2]]);
    expect(batcher.stats()).toMatchObject({ policyErrors: 1, lastPolicyError: expect.any(RangeError) });
  }
});

test('a policy cannot change its view', async () => {
  const { clock, gate, batcher } = withPolicy({
    name: 'vandal',
    decide: (view) => {
      const { limits } = view;
      expect(() => Object.assign(limits, { maxBatchSize: 1 })).toThrow(TypeError);
      return { action: 'dispatch', count: view.length, reason: 'idle' };
    },
  });
  void batcher.submit(1);
  void batcher.submit(2);
  await clock.advance(0);
  expect(gate.batches).toEqual([[1, 2]]);
  expect(batcher.stats().policyErrors).toBe(0);
});
