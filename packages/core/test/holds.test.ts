import { Batcher, type BatcherOptions, type Policy, VirtualClock, window } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CoarseClock } from './support/coarse-clock.js';
import { Gate } from './support/gate.js';
import { outcomeOf } from './support/outcome.js';

const waitForever: Policy = {
  name: 'wait forever',
  decide: () => ({ action: 'wait', until: Number.POSITIVE_INFINITY }),
};

function gated(options: BatcherOptions<number>) {
  const clock = new VirtualClock();
  const gate = new Gate<number, number>();
  const batcher = new Batcher(gate.handler, { clock, ...options });
  const submitAll = (count: number) => {
    for (let item = 0; item < count; item++) batcher.submit(item).catch(() => {});
  };
  return { clock, gate, submitAll };
}

describe('a hold', () => {
  const WAIT_MS = 10;
  const gaps = fc.array(fc.oneof(fc.nat(12), fc.double({ min: 0, max: 12, noNaN: true })), { maxLength: 40 });
  const rules: [string, BatcherOptions<number>][] = [
    ['a window', { policy: window({ maxWaitMs: WAIT_MS }) }],
    ['a policy that waits for ever, bounded by maxWaitMs', { policy: waitForever, maxWaitMs: WAIT_MS }],
    ['a longer window, bounded by maxWaitMs', { policy: window({ maxWaitMs: 1000 }), maxWaitMs: WAIT_MS }],
  ];

  test.each(rules)('in %s is never longer than configured while a slot is free', async (_, options) => {
    await fc.assert(
      fc.asyncProperty(gaps, fc.integer({ min: 1, max: 8 }), async (gapsMs, maxBatchSize) => {
        const clock = new VirtualClock();
        const arrivedAt: number[] = [];
        const waitsMs: number[][] = [];
        const handler = (items: number[]): number[] => {
          waitsMs.push(items.map((item) => clock.now() - (arrivedAt[item] as number)));
          return items;
        };
        const batcher = new Batcher(handler, { clock, maxBatchSize, ...options });
        for (const [item, gapMs] of gapsMs.entries()) {
          await clock.advance(gapMs);
          arrivedAt.push(clock.now());
          batcher.submit(item).catch(() => {});
        }
        await clock.advance(WAIT_MS + 1e-6);
        expect(waitsMs.flat()).toHaveLength(gapsMs.length);
        for (const batch of waitsMs) {
          const longest = Math.max(...batch);
          expect(longest).toBeLessThanOrEqual(WAIT_MS + 1e-9);
          // A batch that is dispatched before the end of the window is full.
          if (longest < WAIT_MS - 1e-9) expect(batch.length).toBe(maxBatchSize);
        }
      }),
    );
  });

  // Root cause: timers count whole milliseconds from their start, which is some time after the first arrival.
  test.each([2, 10])(
    'in a window of %i ms is no longer than configured with millisecond timers',
    async (windowMs) => {
      await fc.assert(
        fc.asyncProperty(fc.double({ min: 0, max: 0.99, noNaN: true }), async (lateMs) => {
          const clock = new CoarseClock();
          const leftAt: number[] = [];
          const handler = (items: number[]): number[] => {
            leftAt.push(clock.now());
            return items;
          };
          const policy = window({ maxWaitMs: windowMs });
          const batcher = new Batcher(handler, { clock, policy });
          batcher.submit(1).catch(() => {});
          // The turn of the event loop of its arrival takes a while.
          batcher.configure({
            policy: { name: 'later', decide: (_, now) => ({ action: 'wait', until: now + 60 }) },
          });
          await clock.advance(lateMs);
          batcher.configure({ policy });
          await clock.advance(2 * windowMs);
          expect(leftAt[0]).toBeLessThanOrEqual(windowMs + 1e-9);
          expect(leftAt[0]).toBeGreaterThanOrEqual(windowMs - 1 - 1e-9);
        }),
      );
    },
  );

  test('is bounded by maxWaitMs from the moment a slot is free', async () => {
    const workload = fc.record({
      arrivals: fc.array(fc.nat(15), { minLength: 1, maxLength: 40 }),
      durationsMs: fc.array(fc.nat(60), { minLength: 1, maxLength: 5 }),
      concurrency: fc.integer({ min: 1, max: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(workload, async ({ arrivals, durationsMs, concurrency }) => {
        const clock = new VirtualClock();
        const arrivedAt: number[] = [];
        let running = 0;
        let freeSince = 0;
        let calls = 0;
        const handler = (items: number[]): Promise<number[]> => {
          for (const item of items) {
            const latest = Math.max((arrivedAt[item] as number) + WAIT_MS, freeSince);
            expect(clock.now()).toBeLessThanOrEqual(latest);
          }
          running += 1;
          return new Promise((resolve) => {
            clock.setTimer(
              () => {
                if (running === concurrency) freeSince = clock.now();
                running -= 1;
                resolve(items);
              },
              durationsMs[calls++ % durationsMs.length] as number,
            );
          });
        };
        const options = { clock, concurrency, maxBatchSize: 4, policy: waitForever, maxWaitMs: WAIT_MS };
        const batcher = new Batcher(handler, options);
        const outcomes = [];
        for (const [item, gapMs] of arrivals.entries()) {
          await clock.advance(gapMs);
          arrivedAt.push(clock.now());
          outcomes.push(outcomeOf(batcher.submit(item)));
        }
        await clock.advance(100_000);
        expect(outcomes.map(({ value }) => value)).toEqual(arrivals.map((_, item) => item));
      }),
    );
  });

  test('in a window ends when the batch is full', async () => {
    const { clock, gate, submitAll } = gated({
      policy: window({ maxWaitMs: WAIT_MS }),
      maxBatchSize: 3,
      concurrency: 9,
    });
    submitAll(7);
    await clock.advance(0);
    expect(gate.batches).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    await clock.advance(WAIT_MS);
    expect(gate.batches[2]).toEqual([6]);
    expect(gate.calls.map(({ context }) => context.reason)).toEqual(['full', 'full', 'window']);
  });

  test('with maxWaitMs 0 does not happen', async () => {
    const { clock, gate, submitAll } = gated({ policy: waitForever, maxWaitMs: 0 });
    submitAll(3);
    await clock.advance(0);
    expect(gate.batches).toEqual([[0, 1, 2]]);
  });
});
