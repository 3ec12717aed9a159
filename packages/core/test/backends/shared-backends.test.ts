/** Several batchers on one set of backends share its slots and its health. */
import { BackendSet, Batcher, greedy, VirtualClock } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SetUser } from '../../src/backends/backend-set.js';
import { SlotQueue } from '../../src/backends/slot-queue.js';
import { GatedBackend, lost } from '../support/gated-backend.js';
import { outcomeOf } from '../support/outcome.js';

function shared(slots: number, orders: readonly (() => number)[]) {
  const clock = new VirtualClock();
  const backend = new GatedBackend('a', slots);
  const backends = new BackendSet([backend], { clock, maxFailures: 1 });
  const batchers = orders.map(
    (slotOrder, i) =>
      new Batcher<number, number>({
        ...{ backends, clock, slotOrder, name: `batcher ${i}` },
        ...{ maxBatchSize: 1, policy: greedy() },
      }),
  );
  return { clock, backend, backends, batchers };
}

const names = ({ gate }: GatedBackend) => gate.calls.map(({ context }) => context.name);

describe('batchers that share backends', () => {
  test('have no more batches in progress together than there are slots', async () => {
    const { clock, backend, batchers } = shared(2, [() => 0, () => 0]);
    for (const batcher of batchers) for (const item of [1, 2]) batcher.submit(item).catch(() => {});
    await clock.advance(0);
    expect(backend.batches).toHaveLength(2);
    expect(batchers.map(({ freeSlots }) => freeSlots)).toEqual([0, 0]);
    for (const batcher of batchers) batcher.destroy();
  });

  test('get slots in rotation, the one with the longest wait first', async () => {
    const { clock, backend, batchers } = shared(1, [() => 0, () => 0, () => 0]);
    for (const batcher of batchers) for (const item of [1, 2]) batcher.submit(item).catch(() => {});
    for (let i = 0; i < 6; i++) {
      await clock.advance(1);
      backend.answer();
    }
    await clock.advance(1);
    const order = names(backend).map((name) => Number(name.at(-1)));
    // The first gets a slot at once, and has the first request for the next one.
    expect(order).toEqual([0, 0, 1, 2, 1, 2]);
    for (const batcher of batchers) batcher.destroy();
  });

  test('get the next free slot in the order of the current `slotOrder`', async () => {
    const served = [5, 1, 3];
    const { clock, backend, batchers } = shared(
      1,
      served.map((_, i) => () => served[i] as number),
    );
    for (const batcher of batchers) for (const item of [1, 2]) batcher.submit(item).catch(() => {});
    await clock.advance(1);
    served[0] = 0;
    for (let i = 0; i < 5; i++) {
      await clock.advance(1);
      backend.answer();
    }
    await clock.advance(1);
    expect(names(backend).map((name) => Number(name.at(-1)))).toEqual([0, 0, 1, 1, 2, 2]);
    for (const batcher of batchers) batcher.destroy();
  });

  test('pass a free slot on to the next batcher when they have no queued items', async () => {
    const { clock, backend, batchers } = shared(1, [() => 0, () => 0, () => 0]);
    const [first, second, third] = batchers as [
      (typeof batchers)[0],
      (typeof batchers)[0],
      (typeof batchers)[0],
    ];
    first.submit(1).catch(() => {});
    await clock.advance(0);
    const controller = new AbortController();
    second.submit(2, { signal: controller.signal }).catch(() => {});
    await clock.advance(0);
    third.submit(3).catch(() => {});
    await clock.advance(0);
    controller.abort();
    backend.answer();
    await clock.advance(0);
    expect(backend.batches).toEqual([[1], [3]]);
    for (const batcher of batchers) batcher.destroy();
  });

  test('all observe the ejection of a backend and its return', async () => {
    const { clock, backend, batchers } = shared(4, [() => 0, () => 0]);
    const [first, second] = batchers as [(typeof batchers)[0], (typeof batchers)[0]];
    first.submit(1).catch(() => {});
    await clock.advance(0);
    backend.fail(lost('a'));
    await clock.advance(0);
    const outcome = outcomeOf(second.submit(2));
    await clock.advance(999);
    expect(backend.batches).toHaveLength(1);
    await clock.advance(1);
    backend.answer();
    await clock.advance(0);
    expect(outcome.value).toBe(2);
    expect(first.stats().backends).toEqual(second.stats().backends);
    for (const batcher of batchers) batcher.destroy();
  });

  test('release their slots when they are destroyed', async () => {
    const { clock, backend, batchers } = shared(1, [() => 0, () => 0]);
    const [first, second] = batchers as [(typeof batchers)[0], (typeof batchers)[0]];
    first.submit(1).catch(() => {});
    await clock.advance(0);
    const outcome = outcomeOf(second.submit(2));
    await clock.advance(0);
    first.destroy();
    await clock.advance(0);
    backend.answer();
    await clock.advance(0);
    expect(outcome.value).toBe(2);
    await second.close();
    expect(clock.pendingTimers).toBe(0);
  });
});

test('no slot is free while a batcher waits for one', async () => {
  const property = fc.asyncProperty(
    fc.array(fc.record({ order: fc.nat(3), wants: fc.nat(3) }), { minLength: 1, maxLength: 6 }),
    fc.integer({ min: 1, max: 3 }),
    async (all, slots) => {
      const clock = new VirtualClock();
      let free = slots;
      const queue = new SlotQueue(clock, () => free);
      const users = all.map(({ order, wants }) => {
        const user: SetUser & { left: number; ask(): void } = {
          slotOrder: order,
          left: wants,
          slotFreed: () => user.ask(),
          backendsChanged() {},
          abandonBatches() {},
          ask() {
            while (user.left > 0 && queue.request(user)) {
              user.left -= 1;
              free -= 1;
              queue.dequeue(user);
            }
          },
        };
        return user;
      });
      for (const user of users) user.ask();
      for (let i = 0; i < 20; i++) {
        await clock.advance(0);
        expect(free === 0 || users.every(({ left }) => left === 0)).toBe(true);
        if (free === slots) break;
        free += 1;
        queue.wake();
      }
      expect(users.map(({ left }) => left)).toEqual(users.map(() => 0));
    },
  );
  await fc.assert(property, { numRuns: 100 });
});

// Root cause: admission counted only the running batches of its own batcher.
test('admission counts the batches of other batchers that hold the slots', async () => {
  const clock = new VirtualClock();
  const run = (items: number[]) =>
    new Promise<number[]>((resolve) => clock.setTimer(() => resolve(items), 100));
  const backends = new BackendSet([{ id: 'a', slots: 1, run }], { clock });
  const [own, other] = [150, Number.POSITIVE_INFINITY].map(
    (targetLatencyMs) => new Batcher<number, number>({ backends, clock, targetLatencyMs, maxBatchSize: 4 }),
  ) as [Batcher<number, number>, Batcher<number, number>];
  for (let i = 0; i < 4; i++) {
    const results = [own.submit(1)];
    await clock.advance(200);
    results.push(other.submit(1));
    await clock.advance(200);
    await Promise.all(results);
  }
  const inFlight = other.submit(1);
  await clock.advance(1);
  const late = outcomeOf(own.submit(2));
  await clock.advance(0);
  expect(late).toMatchObject({ code: 'OVERLOADED', error: { retryAfterMs: expect.closeTo(61.5, 6) } });
  await clock.advance(59);
  const inTime = outcomeOf(own.submit(3));
  await clock.advance(1000);
  expect(inTime.value).toBe(3);
  await inFlight;
});
