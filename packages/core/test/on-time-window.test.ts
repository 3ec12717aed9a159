/** Which items are served when not all of them can meet their deadlines. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bestWindow, type OnTimeWindow } from '../src/policy/on-time-window.js';
import { shownView } from './support/shown-view.js';

interface Item {
  readonly deadline: number;
  readonly cost?: number;
}

type Duration = (cost: number) => number;

const straight: Duration = (cost) => 5 + cost;

function windowOf(items: readonly Item[], durationMs: Duration = straight, maxCost = 64): OnTimeWindow {
  const waiting = items.map((item) => ({ arrivedAt: 0, ...item }));
  return bestWindow(shownView({ waiting }), 0, maxCost, durationMs, 0);
}

const items = (count: number, deadline: number): Item[] =>
  Array.from({ length: count }, () => ({ deadline }));

const costOf = (batch: readonly Item[]) => batch.reduce((sum, { cost = 1 }) => sum + cost, 0);

/** The items that are served: the first `count` that are not rejected. */
function servedOf(queue: readonly Item[], { rejected, count }: OnTimeWindow): readonly Item[] {
  const given = new Set(rejected);
  return queue.filter((_, position) => !given.has(position)).slice(0, count);
}

const inTime = (batch: readonly Item[], durationMs: Duration, from = 0) =>
  batch.length === 0 ||
  from + durationMs(costOf(batch)) <= Math.min(...batch.map(({ deadline }) => deadline));

describe('the batch', () => {
  test('is all items when all can meet their deadlines', () => {
    expect(windowOf(items(10, 15))).toEqual({ rejected: [], count: 10 });
  });

  test('is as many as fit when all can meet their deadlines', () => {
    expect(windowOf(items(10, 1000), straight, 4)).toEqual({ rejected: [], count: 4 });
    const costly = [3, 3, 3, 1].map((cost) => ({ deadline: 1000, cost }));
    expect(windowOf(costly, straight, 7)).toEqual({ rejected: [], count: 2 });
  });

  test('begins behind the items that cannot meet their deadline even alone', () => {
    expect(windowOf([...items(3, 5.5), ...items(4, 100)])).toEqual({ rejected: [0, 1, 2], count: 4 });
  });

  test('is the urgent head alone when the items behind it can be served after it', () => {
    expect(windowOf([...items(1, 6.5), ...items(3, 30)])).toEqual({ rejected: [], count: 1 });
  });

  test('excludes an urgent head that would make all batches small', () => {
    // Batches of one take 6 ms each; all items but the first take 35 ms together.
    expect(windowOf([...items(1, 6), ...items(30, 36)])).toEqual({ rejected: [0], count: 30 });
  });

  test('rejects no item for a negligible gain', () => {
    const nearlyFixed: Duration = (cost) => 10 + 0.0001 * cost;
    const few = [...items(1000, 10.1), ...items(1, 1e6)];
    expect(windowOf(few, nearlyFixed, 1000)).toMatchObject({ rejected: [] });
  });

  // Root cause: the batch ended before such an item every time, until the items behind it were late as well.
  test('goes on behind an urgent item in the middle of a long queue', () => {
    const hurried = [...items(3, 100), { deadline: 8 }, ...items(30, 100)];
    expect(windowOf(hurried)).toEqual({ rejected: [3], count: 33 });
  });

  test('goes on behind items in the middle that cannot meet their deadline even alone', () => {
    const lateBetween = [...items(1, 100), ...items(3, 5.5), ...items(4, 100)];
    expect(windowOf(lateBetween)).toEqual({ rejected: [1, 2, 3], count: 5 });
    const costly = [{ deadline: 10 }, { deadline: 10, cost: 8 }, { deadline: 10 }];
    expect(windowOf(costly)).toEqual({ rejected: [1], count: 2 });
  });

  // Root cause: the first item cannot meet its deadline, which is yet later than the end of the batch of the second.
  test('serves the others when a costly item cannot meet its deadline', () => {
    const queue = [
      { deadline: 8, cost: 5 },
      { deadline: 100, cost: 1 },
    ];
    const window = windowOf(queue);
    expect(servedOf(queue, window)).toEqual([queue[1]]);
  });

  test('is empty, and all items are rejected, when none can meet its deadline', () => {
    expect(windowOf(items(5, 4))).toEqual({ rejected: [0, 1, 2, 3, 4], count: 0 });
  });

  test('is found for 10,000 items in fewer than 100,000 steps', () => {
    let steps = 0;
    const counting: Duration = (cost) => {
      steps += 1;
      return straight(cost);
    };
    windowOf(
      Array.from({ length: 10_000 }, (_, i) => ({ deadline: 20 + (i % 7) + i / 100 })),
      counting,
    );
    expect(steps).toBeLessThan(100_000);
  });
});

describe('for any queue, deadlines and costs,', () => {
  const BACKENDS: Record<string, Duration> = {
    straight,
    padded: (cost) => 1 + 2 ** Math.ceil(Math.log2(Math.max(1, cost))),
    fixed: () => 6,
    'worse past 6': (cost) => (cost <= 6 ? 3 + cost / 4 : 4.5 + 4 * (cost - 6)),
  };
  const situationsOf = (...costs: number[]) =>
    fc.record({
      queue: fc.array(
        fc.record({
          deadline: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(100, Number.POSITIVE_INFINITY)),
          cost: fc.constantFrom(...costs),
        }),
        { minLength: 1, maxLength: 14 },
      ),
      durationMs: fc.constantFrom(...Object.keys(BACKENDS)).map((name) => BACKENDS[name] as Duration),
      maxCost: fc.constantFrom(5, 8, 64),
    });
  const situations = situationsOf(1, 1, 1, 2, 5, 0.5);
  const MANY = { numRuns: 2000 };

  test('the served items fit in a batch, and meet their deadlines with the given durations', () => {
    fc.assert(
      fc.property(situations, ({ queue, durationMs, maxCost }) => {
        const window = windowOf(queue, durationMs, maxCost);
        const served = servedOf(queue, window);
        expect(served).toHaveLength(window.count);
        expect(costOf(served)).toBeLessThanOrEqual(maxCost);
        expect(inTime(served, durationMs)).toBe(true);
      }),
      MANY,
    );
  });

  test('the rejected positions rise, and lie before the end of the batch', () => {
    fc.assert(
      fc.property(situations, ({ queue, durationMs, maxCost }) => {
        const { rejected, count } = windowOf(queue, durationMs, maxCost);
        expect(rejected).toEqual([...new Set(rejected)].sort((a, b) => a - b));
        const last = rejected.at(-1) ?? -1;
        expect(last).toBeLessThan(queue.length);
        if (count === 0 || rejected.length === 0) return;
        const rejectedBefore = new Set(rejected);
        const servedBefore = queue.slice(0, last).filter((_, position) => !rejectedBefore.has(position));
        expect(servedBefore.length).toBeLessThan(count);
      }),
      MANY,
    );
  });

  test('a rejected item could not have been served together with the batch', () => {
    fc.assert(
      fc.property(situationsOf(1), ({ queue, durationMs, maxCost }) => {
        const window = windowOf(queue, durationMs, maxCost);
        const served = servedOf(queue, window);
        if (costOf(served) >= maxCost) return;
        for (const position of window.rejected) {
          expect(inTime([...served, queue[position] as Item], durationMs)).toBe(false);
        }
      }),
      MANY,
    );
  });

  test('no item is rejected when all can be served in one batch', () => {
    fc.assert(
      fc.property(situations, ({ queue, durationMs, maxCost }) => {
        fc.pre(costOf(queue) <= maxCost && inTime(queue, durationMs));
        expect(windowOf(queue, durationMs, maxCost)).toEqual({ rejected: [], count: queue.length });
      }),
      { numRuns: 300 },
    );
  });

  test('no item is rejected if all others are in time after the first batch in the order of deadlines', () => {
    fc.assert(
      fc.property(situationsOf(1), ({ queue: unsorted, durationMs, maxCost }) => {
        const queue = unsorted.toSorted((a, b) => a.deadline - b.deadline);
        fc.pre(queue.length <= maxCost && queue.every((item) => inTime([item], durationMs)));
        let first = 1;
        while (first < queue.length && inTime(queue.slice(0, first + 1), durationMs)) first += 1;
        fc.pre(inTime(queue.slice(first), durationMs, durationMs(first)));
        expect(windowOf(queue, durationMs, maxCost)).toEqual({ rejected: [], count: first });
      }),
      { numRuns: 300 },
    );
  });

  test('an item is served if any can meet its deadline, otherwise all are rejected', () => {
    fc.assert(
      fc.property(situations, ({ queue, durationMs, maxCost }) => {
        const { rejected, count } = windowOf(queue, durationMs, maxCost);
        const canBe = queue.some((item) => costOf([item]) <= maxCost && inTime([item], durationMs));
        expect(count > 0).toBe(canBe);
        if (!canBe) expect(rejected).toHaveLength(queue.length);
      }),
      MANY,
    );
  });

  test('items that can meet their deadline are rejected only for a batch with a higher throughput', () => {
    fc.assert(
      fc.property(situationsOf(1), ({ queue, durationMs, maxCost }) => {
        const window = windowOf(queue, durationMs, maxCost);
        const rejected = window.rejected.map((position) => queue[position] as Item);
        const feasible = rejected.filter((item) => inTime([item], durationMs));
        if (feasible.length === 0) return;
        const perMs = (count: number) => count / durationMs(count);
        // The batch with the most urgent of them.
        const urgent = Math.min(...feasible.map(({ deadline }) => deadline));
        const rest = queue.filter((item) => item.deadline >= urgent && inTime([item], durationMs));
        let count = 1;
        while (count < Math.min(rest.length, maxCost) && durationMs(count + 1) <= urgent) count += 1;
        expect(perMs(window.count)).toBeGreaterThan(perMs(count));
      }),
      MANY,
    );
  });
});
