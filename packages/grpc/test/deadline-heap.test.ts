import { VirtualClock } from 'batchwise';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DeadlineHeap, type Due } from '../src/deadline-heap.js';

class Entry implements Due {
  isOver = false;
  firedAt: number | undefined;
  readonly dueAt: number;
  readonly #clock: VirtualClock;

  constructor(clock: VirtualClock, dueAt: number) {
    this.#clock = clock;
    this.dueAt = dueAt;
  }

  due(): void {
    expect(this.firedAt).toBeUndefined();
    this.firedAt = this.#clock.now();
    this.isOver = true;
  }
}

test('every deadline fires at its time, none that is over, on one timer', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ at: fc.integer({ min: 1, max: 500 }), isDropped: fc.boolean() }), {
        maxLength: 300,
      }),
      async (plan) => {
        const clock = new VirtualClock();
        const heap = new DeadlineHeap(clock);
        const entries = plan.map(({ at, isDropped }) => {
          const entry = new Entry(clock, at);
          heap.add(entry);
          if (isDropped) entry.isOver = true;
          expect(clock.pendingTimers).toBeLessThanOrEqual(1);
          return entry;
        });
        await clock.advance(500);
        for (const [i, { at, isDropped }] of plan.entries()) {
          expect(entries[i]?.firedAt).toBe(isDropped ? undefined : at);
        }
        expect(heap.size).toBe(0);
        expect(clock.pendingTimers).toBe(0);
      },
    ),
    { numRuns: 50 },
  );
});

test('deadlines that are over do not pile up behind a far one', () => {
  const clock = new VirtualClock();
  const heap = new DeadlineHeap(clock);
  heap.add(new Entry(clock, 1));
  for (let i = 0; i < 10_000; i++) {
    const entry = new Entry(clock, 60_000);
    heap.add(entry);
    entry.isOver = true;
  }
  expect(heap.size).toBeLessThan(200);
});
