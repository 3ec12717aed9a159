/** Guarantee 10, calls of the batcher within decide(): no item is lost. */
import {
  Batcher,
  type BatcherOptions,
  type Decision,
  greedy,
  type Policy,
  type QueueView,
  VirtualClock,
  window,
} from 'batchwise';
import { expect, test } from 'vitest';
import { expectRest } from './support/books.js';
import { outcomeOf } from './support/outcome.js';
import { RecordingSink } from './support/recording-sink.js';

const forever: Decision = { action: 'wait', until: Infinity };
const all = (view: QueueView): Decision => ({ action: 'dispatch', count: view.length, reason: 'idle' });

function readAll(view: QueueView): void {
  for (let position = 0; position < view.length; position++) view.costAt(position);
}

/** A batcher with a synchronous handler and a policy of the test. */
function deciding(decide: (view: QueueView, now: number) => Decision, options: BatcherOptions<string> = {}) {
  const clock = new VirtualClock();
  const executed: string[][] = [];
  const batcher = new Batcher(
    (items: string[]) => {
      executed.push(items);
      return items;
    },
    { clock, policy: { name: 'test', decide }, ...options },
  );
  return { clock, batcher, executed };
}

test('configure inside decide: the new policy decides', async () => {
  const { clock, batcher, executed } = deciding(() => {
    batcher.configure({ policy: greedy() });
    return forever;
  });
  const outcome = outcomeOf(batcher.submit('a'));
  await clock.advance(0);
  expect(executed).toEqual([['a']]);
  expect(outcome.value).toBe('a');
});

test('close inside decide: the queue is drained, whatever the policy decides', async () => {
  const { clock, batcher, executed } = deciding(() => {
    closed ??= outcomeOf(batcher.close());
    return forever;
  });
  let closed: ReturnType<typeof outcomeOf> | undefined;
  void batcher.submit('a');
  await clock.advance(0);
  expect(executed).toEqual([['a']]);
  expect(closed?.state).toBe('resolved');
});

test('flush inside decide: the queue is dispatched', async () => {
  const { clock, batcher, executed } = deciding(() => {
    batcher.flush();
    return forever;
  });
  void batcher.submit('a');
  await clock.advance(0);
  expect(executed).toEqual([['a']]);
});

test.each([false, true])(
  'destroy inside decide (positions read: %s): each caller gets CLOSED, nothing runs',
  async (reads) => {
    const { clock, batcher, executed } = deciding((view) => {
      if (reads) readAll(view);
      batcher.destroy();
      return all(view);
    });
    const outcomes = ['a', 'b'].map((item) => outcomeOf(batcher.submit(item)));
    await clock.advance(0);
    expect(outcomes.map(({ code, settled }) => [code, settled])).toEqual(Array(2).fill(['CLOSED', 1]));
    expect(executed).toEqual([]);
    expectRest(batcher);
  },
);

test('submit inside decide: everything is dispatched, and it counts as an error of the policy', async () => {
  let decisions = 0;
  const { clock, batcher, executed } = deciding(() => {
    if (decisions++ === 0) void batcher.submit('b');
    return forever;
  });
  void batcher.submit('a');
  await clock.advance(0);
  expect(executed).toEqual([['a', 'b']]);
  expect(batcher.stats()).toMatchObject({
    policyErrors: 1,
    lastPolicyError: new TypeError('a policy must not change the queue'),
  });
  expectRest(batcher);
});

test.each([
  ['the only one', 1, 0, false],
  ['the only one, positions read', 1, 0, true],
  ['the first', 3, 0, false],
  ['the first, positions read', 3, 0, true],
  ['the last', 3, 2, false],
  ['the last, positions read', 3, 2, true],
])(
  'cancel inside decide, of %s: it is removed, the others are dispatched, and the counts add up',
  async (_, count, which, reads) => {
    for (const answer of [all, () => forever]) {
      let decisions = 0;
      const { clock, batcher, executed } = deciding((view) => {
        decisions += 1;
        // Ends an endless loop of decisions, which the expectation below detects.
        if (decisions === 100) void batcher.submit('way out');
        if (reads) readAll(view);
        if (decisions > 1) return all(view);
        tickets[which]?.cancel();
        return answer(view);
      });
      const sinks = Array.from({ length: count }, () => new RecordingSink<string>());
      const tickets = sinks.map((sink, i) => batcher.enqueue(`${i}`, sink));
      await clock.advance(0);
      batcher.flush();
      await clock.advance(0);
      expect(decisions).toBeLessThan(10);
      expect(sinks.map(({ settled }) => settled)).toEqual(Array(count).fill(1));
      expect(sinks[which]?.fate).toBe('CANCELLED');
      expect(executed.flat()).toEqual(Array.from(sinks.keys(), String).filter((item) => item !== `${which}`));
      expectRest(batcher);
      await clock.advance(1);
      // The cancelled item does not count as queued in another group.
      void batcher.submit('next');
      batcher.configure({ policy: greedy() });
      await clock.advance(0);
      expect(batcher.stats().reasons.group).toBe(0);
    }
  },
);

test('maxBatchSize lowered inside decide below the cost of an item: it is rejected, after few decisions', async () => {
  let decisions = 0;
  const { clock, batcher, executed } = deciding(
    (view) => {
      decisions += 1;
      readAll(view);
      if (decisions === 1) batcher.configure({ maxBatchSize: 2 });
      if (decisions === 100) batcher.configure({ maxBatchSize: 10 }); // ends an endless loop
      return all(view);
    },
    { maxBatchSize: 10, costOf: (item) => item.length },
  );
  const outcomes = ['aaaaa', 'b'].map((item) => outcomeOf(batcher.submit(item)));
  await clock.advance(0);
  expect(decisions).toBeLessThan(10);
  expect(outcomes.map(({ code, value }) => code ?? value)).toEqual(['INVALID_ITEM', 'b']);
  expect(executed).toEqual([['b']]);
  expectRest(batcher);
});

test('a view that a policy keeps throws after the end of the call', async () => {
  let kept: QueueView | undefined;
  const policy: Policy = {
    name: 'keeps the view',
    decide: (view) => {
      kept = view;
      return forever;
    },
  };
  const clock = new VirtualClock();
  const batcher = new Batcher((items: string[]) => items, { clock, policy });
  const outcome = outcomeOf(batcher.submit('a'));
  await clock.advance(0);
  expect(() => kept?.arrivedAt(0)).toThrow(RangeError);
  batcher.configure({ policy: window({ maxWaitMs: 0 }) });
  await clock.advance(0);
  expect(outcome.value).toBe('a');
});

test('a policy that changes the queue at every call stops nothing', async () => {
  let decisions = 0;
  const { clock, batcher, executed } = deciding(
    (view) => {
      decisions += 1;
      if (decisions <= 10) void batcher.submit(`${decisions}`);
      readAll(view);
      return forever;
    },
    { maxBatchSize: 100 },
  );
  void batcher.submit('first');
  await clock.advance(0);
  expect(executed[0]).toEqual(['first', '1']);
  await clock.advance(100);
  batcher.flush();
  await clock.advance(0);
  expect(executed.flat()).toHaveLength(1 + Math.min(decisions, 10));
  expectRest(batcher);
});
