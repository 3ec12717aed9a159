/** With several groups under deadlines: which group is next, and which items are admitted. */
import { adaptive, Batcher, type Policy, VirtualClock, type WaitingGroup } from 'batchwise';
import { adaptiveWithout } from 'batchwise/internal';
import { describe, expect, test } from 'vitest';
import { ServiceCurve } from '../src/learning/service-curve.js';
import { nextGroup } from '../src/policy/group-order.js';
import { CurvedBackend } from './support/curved-backend.js';
import { type Outcome, outcomeOf } from './support/outcome.js';

const curve = new ServiceCurve([
  { cost: 1, durationMs: 10 },
  { cost: 10, durationMs: 20 },
]);
const group = (cost: number, deadline: number): WaitingGroup => ({ cost, deadline, curve });

describe('nextGroup', () => {
  test('leaves the groups in the order of age while all of them can wait', () => {
    expect(nextGroup([group(1, 50), group(10, 60)], 1, 0)).toBe(0);
  });

  test('takes the highest throughput of the groups that cannot wait', () => {
    expect(nextGroup([group(1, 20), group(10, 25), group(4, 22)], 1, 0)).toBe(1);
  });

  test('leaves a group that can wait to grow, although it has the highest throughput', () => {
    expect(nextGroup([group(1, 100), group(2, 12), group(10, 100)], 1, 0)).toBe(1);
  });

  test('counts on less delay with more slots', () => {
    const groups = [group(1, 12), group(10, 30)];
    expect(nextGroup(groups, 1, 0)).toBe(1);
    expect(nextGroup(groups, 16, 0)).toBe(0);
  });

  test('takes a group whose deadline has passed at once, so that its items are rejected', () => {
    expect(nextGroup([group(10, 20), group(1, 9)], 1, 10)).toBe(1);
  });

  test('keeps the order of age as long as no curve is known', () => {
    const unknown = new ServiceCurve();
    const groups = [1, 9].map((cost) => ({ cost, deadline: 5, curve: unknown }));
    expect(nextGroup(groups, 1, 0)).toBe(0);
  });
});

/** Half of the items are of two groups, the others of 21. The slot has no time for a batch of every group. */
async function shareOnTime(policy: Policy, admission: boolean): Promise<number> {
  const backend = new CurvedBackend((size) => 2 + 1.5 * Math.ceil(size / 8));
  const batcher = backend.batcher({
    groupOf: (item) => item,
    maxBatchSize: 64,
    targetLatencyMs: 12,
    admission,
    policy,
  });
  const outcomes: Outcome<number>[] = [];
  for (let i = 0; i < 2000; i++) {
    const group = i % 2 === 0 ? (i / 2) % 2 : 2 + (i % 21);
    outcomes.push(outcomeOf(batcher.submit(group)));
    await backend.clock.advance(0.5);
  }
  await backend.clock.advance(100);
  return outcomes.filter(({ state }) => state === 'resolved').length / outcomes.length;
}

// Root cause: the oldest group was always next, and all older groups counted as ahead of a new item. So under overload
// the slots went to groups of one item, and the items of a group that could have filled batches were rejected.
test.each([true, false])(
  'under overload, slots go to the groups with the highest throughput (admission: %s)',
  async (admission) => {
    const byAge = await shareOnTime(adaptiveWithout('group order'), admission);
    const byThroughput = await shareOnTime(adaptive(), admission);
    expect(byThroughput).toBeGreaterThan(1.1 * byAge);
  },
);

/** A batcher with a busy slot and a policy that records what it is asked. */
function recording(choose: (groups: readonly WaitingGroup[]) => unknown) {
  const clock = new VirtualClock();
  const executed: string[][] = [];
  const asked: WaitingGroup[][] = [];
  const batcher = new Batcher(
    (items: string[]) => {
      executed.push(items);
      return new Promise<string[]>((resolve) => clock.setTimer(() => resolve(items), 10));
    },
    {
      clock,
      targetLatencyMs: 100,
      maxBatchSize: 4,
      groupOf: (item) => item[0],
      policy: {
        name: 'test',
        decide: ({ length }) => ({ action: 'dispatch', count: length, reason: 'idle' }),
        nextGroup: (groups) => {
          asked.push([...groups]);
          return choose(groups) as number;
        },
      },
    },
  );
  return { clock, batcher, executed, asked };
}

test('a policy chooses between groups by their cost and their earliest deadline', async () => {
  const { clock, batcher, executed, asked } = recording((groups) => groups.length - 1);
  for (const item of ['a1', 'b1', 'b2', 'b3', 'b4', 'b5', 'c1']) void batcher.submit(item);
  void batcher.submit('c2', { timeoutMs: 60 });
  await clock.advance(40);
  expect(executed[0]).toEqual(['c1', 'c2']);
  expect(asked[0]?.map(({ cost, deadline }) => [cost, deadline])).toEqual([
    [1, 100],
    [4, 100],
    [2, 100],
  ]);
  await batcher.close();
});

test('a policy chooses only between groups of the tenant and the priority that are next', async () => {
  const { clock, batcher, executed, asked } = recording((groups) => groups.length - 1);
  void batcher.submit('a');
  void batcher.submit('b', { priority: 1 });
  void batcher.submit('c', { priority: 1 });
  void batcher.submit('d', { tenant: 'other' });
  await clock.advance(100);
  expect(asked.map((groups) => groups.length)).toEqual([2]);
  expect(executed.flat()).toEqual(['c', 'd', 'b', 'a']);
  await batcher.close();
});

test.each([
  ['undefined', undefined],
  ['a position beyond the last', 2],
  ['half a position', 0.5],
])('an invalid choice, %s, is counted and the next group by age is taken', async (_, choice) => {
  const { clock, batcher, executed } = recording(() => choice);
  for (const item of ['a', 'b']) void batcher.submit(item);
  await clock.advance(30);
  expect(executed).toEqual([['a'], ['b']]);
  expect(batcher.stats().policyErrors).toBe(1);
  await batcher.close();
});

test('a policy that cancels the group which it chooses does not stop the others', async () => {
  const { clock, batcher, executed } = recording(() => {
    ticket.abort();
    return 1;
  });
  const ticket = new AbortController();
  void batcher.submit('a');
  const cancelled = outcomeOf(batcher.submit('b', { signal: ticket.signal }));
  await clock.advance(30);
  expect(cancelled.code).toBe('CANCELLED');
  expect(executed).toEqual([['a']]);
  await batcher.close();
});
