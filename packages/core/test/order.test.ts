/** Guarantee 6, order: first in, first out; priorities that age; groups in rotation. */
import { Batcher, greedy, VirtualClock, window } from 'batchwise';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { expectBooksToBalance, expectRest } from './support/books.js';
import { Gate } from './support/gate.js';
import { RecordingSink } from './support/recording-sink.js';
import { TimedBackend } from './support/timed-backend.js';

interface Item {
  readonly number: number;
  readonly group: string;
  readonly priority: number;
  readonly tenant: string;
}

const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('submit' as const),
        group: fc.constantFrom('red', 'green', 'blue'),
        priority: fc.constantFrom(-1, 0, 3),
        tenant: fc.constantFrom('acme', 'bolt', 'core'),
        weight: fc.constantFrom(undefined, 1, 2.5),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), which: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: fc.nat(700) }) },
    { weight: 2, arbitrary: fc.constant({ kind: 'answer' as const }) },
  ),
  { maxLength: 80 },
);

test('items of the same group, priority and tenant are dispatched in the order of arrival', async () => {
  const settings = fc.record({
    maxBatchSize: fc.integer({ min: 1, max: 5 }),
    concurrency: fc.integer({ min: 1, max: 3 }),
    windowMs: fc.constantFrom(undefined, 0, 300),
  });
  await fc.assert(
    fc.asyncProperty(steps, settings, async (script, { maxBatchSize, concurrency, windowMs }) => {
      const clock = new VirtualClock();
      const gate = new Gate<Item, Item>();
      const batcher = new Batcher(gate.handler, {
        clock,
        maxBatchSize,
        concurrency,
        groupOf: ({ group }) => group,
        ...(windowMs === undefined ? {} : { policy: window({ maxWaitMs: windowMs }) }),
      });
      const sinks: RecordingSink<Item>[] = [];
      const tickets: { cancel(): void }[] = [];
      let answered = 0;
      const answerNext = async () => {
        const call = gate.calls[answered++];
        call?.answer(call.items);
        await clock.settle();
      };

      for (const step of script) {
        if (step.kind === 'submit') {
          const { group, priority, tenant, weight } = step;
          const sink = new RecordingSink<Item>();
          const item = { number: sinks.length, group, priority, tenant };
          sinks.push(sink);
          tickets.push(batcher.enqueue(item, sink, { priority, tenant, weight }));
        } else if (step.kind === 'cancel') tickets[step.which % (tickets.length || 1)]?.cancel();
        else if (step.kind === 'advance') await clock.advance(step.ms);
        else if (answered < gate.calls.length) await answerNext();
        expectBooksToBalance(batcher);
      }
      const closed = batcher.close();
      await clock.settle();
      while (answered < gate.calls.length) await answerNext();
      await closed;

      const last = new Map<string, number>();
      for (const items of gate.batches) {
        expect(new Set(items.map(({ group }) => group)).size).toBe(1);
        for (const { number, group, priority, tenant } of items) {
          const lane = `${group}/${priority}/${tenant}`;
          expect(number).toBeGreaterThan(last.get(lane) ?? -1);
          last.set(lane, number);
        }
      }
      for (const { settled } of sinks) expect(settled).toBe(1);
      expectRest(batcher);
    }),
    { numRuns: 300 },
  );
});

test('a higher priority is dispatched first, and items of one priority in the order of arrival', async () => {
  const clock = new VirtualClock();
  const gate = new Gate<string, string>();
  const batcher = new Batcher(gate.handler, { clock, maxBatchSize: 2 });
  void batcher.submit('running');
  await clock.advance(0);
  for (const [item, priority] of [
    ['a0', 0],
    ['b0', 0],
    ['c2', 2],
    ['d1', 1],
    ['e2', 2],
    ['f-1', -1],
  ] as const) {
    void batcher.submit(item, { priority });
  }
  for (let i = 0; i < 4; i++) {
    gate.call(i).answer(gate.call(i).items);
    await clock.advance(0);
  }
  expect(gate.batches).toEqual([['running'], ['c2', 'e2'], ['d1', 'a0'], ['b0', 'f-1']]);
});

test('under a constant flood of a higher priority, an item waits no longer than the head start of that priority', async () => {
  const scenario = fc.record({
    apart: fc.integer({ min: 1, max: 8 }),
    priorityAgeMs: fc.integer({ min: 20, max: 100 }),
    maxBatchSize: fc.integer({ min: 1, max: 4 }),
  });
  const batchMs = 10;
  await fc.assert(
    fc.asyncProperty(scenario, async ({ apart, priorityAgeMs, maxBatchSize }) => {
      const clock = new VirtualClock();
      const backend = new TimedBackend<string>(clock, batchMs);
      const batcher = new Batcher(backend.handler, { clock, maxBatchSize, priorityAgeMs, policy: greedy() });
      const flood = () => {
        for (let i = 0; i < maxBatchSize; i++) void batcher.submit('flood', { priority: apart });
      };
      flood();
      await clock.advance(0);
      void batcher.submit('low', { priority: 0 });
      const agedAt = apart * priorityAgeMs;
      while (clock.now() <= agedAt + 3 * batchMs) {
        flood();
        await clock.advance(batchMs);
      }
      const at = backend.executed.find(({ item }) => item === 'low')?.at;
      // The running batch and one queued batch are ahead of it.
      expect(at).toBeLessThanOrEqual(agedAt + 2 * batchMs);
      // The higher priority was dispatched first until then.
      expect(at).toBeGreaterThanOrEqual(agedAt - batchMs);
    }),
    { numRuns: 40 },
  );
});

test('each batch has the items of lowest rank of its group, and no other group has a lower rank', async () => {
  const priorityAgeMs = 100;
  const script = fc.array(
    fc.record({
      group: fc.constantFrom('red', 'green', 'blue'),
      priority: fc.constantFrom(-2, 0, 1, 5),
      afterMs: fc.constantFrom(0, 0, 0, 10, 150),
      cancels: fc.option(fc.nat(), { freq: 6 }),
      answers: fc.boolean(),
    }),
    { maxLength: 60 },
  );
  await fc.assert(
    fc.asyncProperty(script, fc.integer({ min: 1, max: 4 }), async (submissions, maxBatchSize) => {
      const clock = new VirtualClock();
      // The queued items with their ranks: the arrival, less the head start of the priority.
      const waiting = new Map<number, { group: string; rank: number }>();
      const faults: unknown[] = [];
      const gate = new Gate<number, number>();
      const batcher = new Batcher<number, number>(
        (items, context) => {
          const batch = items.map((item) => waiting.get(item) ?? { group: 'unknown', rank: NaN });
          const ranks = batch.map(({ rank }) => rank);
          for (const item of items) waiting.delete(item);
          for (const { group, rank } of waiting.values()) {
            if (rank < (ranks[0] ?? NaN)) faults.push(['another item has a lower rank', items, rank]);
            if (group === context.group && rank < Math.max(...ranks))
              faults.push(['an item of the group with a lower rank is not in the batch', items, rank]);
          }
          if (ranks.some((rank, i) => !(rank >= (ranks[i - 1] ?? rank))))
            faults.push(['not in order', ranks]);
          return gate.handler(items, context);
        },
        {
          clock,
          maxBatchSize,
          priorityAgeMs,
          policy: greedy(), // another policy may hold a group
          groupOf: (item) => submissions[item]?.group,
        },
      );
      const tickets: { cancel(): void }[] = [];
      let answered = 0;
      const answerNext = async () => {
        const call = gate.calls[answered++];
        call?.answer(call.items);
        await clock.settle();
      };
      for (const [item, { group, priority, afterMs, cancels, answers }] of submissions.entries()) {
        tickets.push(batcher.enqueue(item, new RecordingSink(), { priority }));
        waiting.set(item, { group, rank: clock.now() - priority * priorityAgeMs });
        if (cancels !== null) {
          tickets[cancels % tickets.length]?.cancel();
          waiting.delete(cancels % tickets.length);
        }
        if (afterMs > 0) await clock.advance(afterMs);
        if (answers && answered < gate.calls.length) await answerNext();
      }
      await clock.settle();
      while (answered < gate.calls.length) await answerNext();
      expect(faults).toEqual([]);
      expect(waiting.size).toBe(0);
    }),
    { numRuns: 300 },
  );
});

test('several groups form at once, each filling its own batch', async () => {
  const clock = new VirtualClock();
  const gate = new Gate<string, string>();
  const batcher = new Batcher(gate.handler, {
    clock,
    maxBatchSize: 3,
    concurrency: 4,
    groupOf: (item) => item[0],
    policy: window({ maxWaitMs: 10 }),
  });
  for (const item of ['a1', 'b1', 'c1', 'a2', 'b2']) void batcher.submit(item);
  await clock.advance(5);
  expect(gate.batches).toEqual([]);
  void batcher.submit('a3');
  await clock.advance(0);
  expect(gate.batches).toEqual([['a1', 'a2', 'a3']]);
  await clock.advance(5);
  expect(gate.batches.slice(1)).toEqual([['b1', 'b2'], ['c1']]);
  expect(gate.calls.map(({ context }) => [context.group, context.reason])).toEqual([
    ['a', 'full'],
    ['b', 'window'],
    ['c', 'window'],
  ]);
});

test('a batch that is dispatched while other groups are queued has the reason group', async () => {
  const clock = new VirtualClock();
  const gate = new Gate<string, string>();
  const batcher = new Batcher(gate.handler, { clock, concurrency: 2, groupOf: (item) => item[0] });
  for (const item of ['a1', 'b1', 'a2']) void batcher.submit(item);
  await clock.advance(0);
  expect(gate.calls.map(({ items, context }) => [items, context.reason])).toEqual([
    [['a1', 'a2'], 'group'],
    [['b1'], 'idle'],
  ]);
  expect(batcher.stats().reasons).toMatchObject({ group: 1, idle: 1 });
});

test('a small group is not starved by one that is always full', async () => {
  const clock = new VirtualClock();
  const backend = new TimedBackend<string>(clock, 10);
  const batcher = new Batcher(backend.handler, { clock, maxBatchSize: 4, groupOf: (item) => item });
  const flood = () => {
    for (let i = 0; i < 4; i++) void batcher.submit('large');
  };
  for (let i = 0; i < 5; i++) flood(); // a backlog of five batches, then load 1
  await clock.advance(1);
  void batcher.submit('small');
  await clock.advance(1);
  for (let i = 0; i < 20; i++) {
    flood();
    await clock.advance(10);
  }
  const position = backend.executed.findIndex(({ item }) => item === 'small');
  expect(position).toBe(20); // after the items that arrived before it, and before all later ones
});

test('ten thousand groups are dispatched, each as one batch', async () => {
  const clock = new VirtualClock();
  const groups = 10_000;
  const sizes = new Map<unknown, number>();
  const batcher = new Batcher(
    (items: number[], { group }) => {
      sizes.set(group, items.filter((item) => item % groups === group).length);
      return items;
    },
    { clock, groupOf: (item) => item % groups },
  );
  const answers = Array.from({ length: 3 * groups }, (_, item) => batcher.submit(item));
  await clock.advance(0);
  expect(sizes.size).toBe(groups);
  expect(new Set(sizes.values())).toEqual(new Set([3]));
  expect(await Promise.all(answers)).toEqual(Array.from(answers.keys()));
  expect(batcher.stats().batches).toBe(groups);
  expectRest(batcher);
});

test('group keys are compared as by a Map: NaN equals NaN, objects are compared by identity', async () => {
  const clock = new VirtualClock();
  const gate = new Gate<unknown, unknown>();
  const shape = {};
  const batcher = new Batcher(gate.handler, { clock, concurrency: Infinity, groupOf: (item) => item });
  for (const item of [NaN, shape, 0, {}, NaN, shape, -0, undefined, null]) void batcher.submit(item);
  await clock.advance(0);
  expect(gate.batches.map(({ length }) => length)).toEqual([2, 2, 2, 1, 1, 1]);
});
