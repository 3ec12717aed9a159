/** Which run of the queue is served when not all of it can be, in time. */
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

describe('the run that is served', () => {
  test('is everybody, when everybody is in time', () => {
    expect(windowOf(items(10, 15))).toEqual({ refuse: 0, count: 10, hopeless: [] });
  });

  test('is as many as fit, when everybody is', () => {
    expect(windowOf(items(10, 1000), straight, 4)).toMatchObject({ refuse: 0, count: 4 });
    const costly = [3, 3, 3, 1].map((cost) => ({ deadline: 1000, cost }));
    expect(windowOf(costly, straight, 7)).toMatchObject({ refuse: 0, count: 2 });
  });

  test('begins behind those who can no longer make it, even alone', () => {
    expect(windowOf([...items(3, 5.5), ...items(4, 100)])).toEqual({ refuse: 3, count: 4, hopeless: [] });
  });

  test('begins at the head, as small as it asks for, when those behind can be served after it', () => {
    expect(windowOf([...items(1, 6.5), ...items(3, 30)])).toEqual({ refuse: 0, count: 1, hopeless: [] });
  });

  test('leaves a head behind that would make every batch small, when there are many', () => {
    // One a time until the queue is through would take 6 ms each; all but the first take 35 together.
    expect(windowOf([...items(1, 6), ...items(30, 36)])).toEqual({ refuse: 1, count: 30, hopeless: [] });
  });

  test('does not leave a head behind for next to nothing', () => {
    const nearlyFixed: Duration = (cost) => 10 + 0.0001 * cost;
    const few = [...items(1000, 10.1), ...items(1, 1e6)];
    expect(windowOf(few, nearlyFixed, 1000)).toMatchObject({ refuse: 0 });
  });

  // Root cause: the run ended before such a one, every time anew, and those behind it became such ones.
  test('goes on behind one who is in a hurry, when there are many', () => {
    const hurried = [...items(3, 100), { deadline: 8 }, ...items(30, 100)];
    expect(windowOf(hurried)).toEqual({ refuse: 0, count: 33, hopeless: [3] });
  });

  test('goes on behind those in between who cannot make it even alone, and tells who they are', () => {
    const lateBetween = [...items(1, 100), ...items(3, 5.5), ...items(4, 100), ...items(1, 5.5)];
    expect(windowOf(lateBetween)).toEqual({ refuse: 0, count: 5, hopeless: [1, 2, 3, 8] });
    const costly = [{ deadline: 10 }, { deadline: 10, cost: 8 }, { deadline: 10 }];
    expect(windowOf(costly)).toEqual({ refuse: 0, count: 2, hopeless: [1] });
    expect(windowOf([...items(1, 5.5), ...lateBetween])).toMatchObject({ refuse: 1, hopeless: [2, 3, 4, 9] });
  });

  test('is nobody, and all are told, when nobody can be served in time', () => {
    expect(windowOf(items(5, 4))).toEqual({ refuse: 5, count: 0, hopeless: [] });
  });

  test('takes time for ten thousand that does not grow with their square', () => {
    let asked = 0;
    const counting: Duration = (cost) => {
      asked += 1;
      return straight(cost);
    };
    windowOf(
      Array.from({ length: 10_000 }, (_, i) => ({ deadline: 20 + (i % 7) + i / 100 })),
      counting,
    );
    expect(asked).toBeLessThan(100_000);
  });
});

describe('whoever waits, with whatever deadlines and costs,', () => {
  const situations = fc.record({
    queue: fc.array(
      fc.record({
        deadline: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(100, Number.POSITIVE_INFINITY)),
        cost: fc.constantFrom(1, 1, 1, 2, 5, 0.5),
      }),
      { minLength: 1, maxLength: 14 },
    ),
    backend: fc.constantFrom('straight', 'padded', 'fixed'),
    maxCost: fc.constantFrom(5, 8, 64),
  });
  const BACKENDS: Record<string, Duration> = {
    straight,
    padded: (cost) => 1 + 2 ** Math.ceil(Math.log2(Math.max(1, cost))),
    fixed: () => 6,
  };
  const without = (queue: readonly Item[], positions: readonly number[]) =>
    queue.filter((_, position) => !positions.includes(position));
  const costOf = (run: readonly Item[]) => run.reduce((sum, { cost = 1 }) => sum + cost, 0);
  const inTime = (run: readonly Item[], durationMs: Duration, maxCost: number) =>
    costOf(run) <= maxCost && run.every(({ deadline }) => durationMs(costOf(run)) <= deadline);

  /** Whether somebody in the midst is let go who could be served alone: the head is decided on when they are gone. */
  const isAskedAgain = (queue: readonly Item[], positions: readonly number[], durationMs: Duration) =>
    positions.some((position) => inTime([queue[position] as Item], durationMs, Number.POSITIVE_INFINITY));

  test('the run that is served fits and is in time, and those let go had no time for it', () => {
    fc.assert(
      fc.property(situations, ({ queue, backend, maxCost }) => {
        const durationMs = BACKENDS[backend] as Duration;
        const { refuse, count, hopeless } = windowOf(queue, durationMs, maxCost);
        const run = without(queue, hopeless).slice(refuse, refuse + count);
        for (const position of hopeless) {
          const { deadline, cost = 1 } = queue[position] as Item;
          expect(position).toBeGreaterThan(refuse);
          expect(durationMs(cost + costOf(run))).toBeGreaterThan(deadline);
        }
        expect(run).toHaveLength(count);
        expect(inTime(run, durationMs, maxCost)).toBe(true);
        if (count === 0 || isAskedAgain(queue, hopeless, durationMs)) return;
        for (const { deadline, cost = 1 } of queue.slice(0, refuse)) {
          const isHopeless = durationMs(cost) > deadline;
          expect(isHopeless || deadline < durationMs(costOf(run))).toBe(true);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('somebody is served when somebody can be', () => {
    fc.assert(
      fc.property(situations, ({ queue: ofAnyCost, backend, maxCost }) => {
        const durationMs = BACKENDS[backend] as Duration;
        const queue = ofAnyCost;
        const { count } = windowOf(queue, durationMs, maxCost);
        const canBe = queue.some((item) => inTime([item], durationMs, maxCost));
        expect(count > 0).toBe(canBe);
      }),
      { numRuns: 2000 },
    );
  });

  test('somebody who could be served is let go only for a run that gets more done a millisecond', () => {
    fc.assert(
      fc.property(situations, ({ queue: all, backend, maxCost }) => {
        const durationMs = BACKENDS[backend] as Duration;
        const { refuse, count, hopeless } = windowOf(all, durationMs, maxCost);
        const queue = without(all, hopeless);
        const perMs = (run: readonly Item[]) => costOf(run) / durationMs(costOf(run));
        const first = queue.findIndex((item) => inTime([item], durationMs, maxCost));
        if (count === 0 || refuse <= first || isAskedAgain(all, hopeless, durationMs)) return;
        let end = first + 1;
        while (end < queue.length && inTime(queue.slice(first, end + 1), durationMs, maxCost)) end += 1;
        const gain = perMs(queue.slice(refuse, refuse + count)) / perMs(queue.slice(first, end));
        expect(gain).toBeGreaterThan(1);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('what was once wrong', () => {
  // Root cause: the first cannot be served in time, yet its deadline is later than the end of the second's batch,
  // for which it therefore must not be let go; so no run is left, and both are refused.
  test('a costly item that cannot be served in time takes nobody with it', () => {
    const queue = [
      { deadline: 8, cost: 5 },
      { deadline: 100, cost: 1 },
    ];
    expect(windowOf(queue)).toEqual({ refuse: 1, count: 1, hopeless: [] });
  });
});
