/** Behaviour that shows only in long runs, or with unusual combinations of options. */
import { Batcher, type Policy, VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import { Tenants } from '../src/queue/tenants.js';
import { CurvedBackend } from './support/curved-backend.js';
import { Gate } from './support/gate.js';
import { outcomeOf } from './support/outcome.js';

// Root cause: a tenant that was served once always stood one item above the level, and was never forgotten.
test('tenants without queued items are forgotten', () => {
  const tenants = new Tenants();
  for (let i = 0; i < 100_000; i++) tenants.find(`tenant ${i}`, undefined);
  expect(tenants.size).toBeLessThan(5000);
});

test('weights are remembered, up to a limit', () => {
  const tenants = new Tenants();
  tenants.find('gold', 3);
  for (let i = 0; i < 10_000; i++) tenants.find(`tenant ${i}`, undefined);
  expect(tenants.find('gold', undefined).weight).toBe(3);
  for (let i = 0; i < 400_000; i++) tenants.find(`weighty ${i}`, 2);
  expect(tenants.size).toBeLessThan(300_000);
});

// Root cause: a mean over 64 batches, with one probe a second, takes minutes to fall.
test('a backend that was slow for long and is fast again gets items within seconds', async () => {
  const backend = new CurvedBackend(() => 50);
  const { clock } = backend;
  const batcher = backend.batcher({ targetLatencyMs: 100 });
  const submitFor = async (ms: number) => {
    const before = batcher.stats();
    for (let t = 0; t < ms; t += 100) {
      batcher.submit(0).catch(() => {});
      await clock.advance(100);
    }
    return batcher.stats().refused - before.refused;
  };
  await submitFor(5_000);
  backend.durationMs = () => 300;
  await submitFor(150_000);
  backend.durationMs = () => 50;
  await submitFor(10_000);
  expect(await submitFor(5_000)).toBe(0);
});

// Root cause: after a slow phase only single items were admitted, and larger batches were never measured again.
test('after a slow phase batches grow again to the size that the load needs', async () => {
  const backend = new CurvedBackend(() => 20);
  const { clock } = backend;
  const batcher = backend.batcher({ maxBatchSize: 32, targetLatencyMs: 100 });
  const batchOf = async (size: number) => {
    for (let i = 0; i < size; i++) batcher.submit(i).catch(() => {});
    await clock.advance(backend.durationMs(size));
  };
  for (let round = 0; round < 10; round++) for (const size of [1, 2, 4, 32]) await batchOf(size);
  backend.durationMs = () => 200;
  for (let round = 0; round < 3; round++) await batchOf(32);
  backend.durationMs = () => 20;
  await clock.advance(2000);
  const before = batcher.stats();
  for (let ms = 0; ms < 20_000; ms += 10) {
    for (let i = 0; i < 10; i++) batcher.submit(i).catch(() => {});
    await clock.advance(10);
  }
  const after = batcher.stats();
  expect(after.refused - before.refused).toBeLessThan(1000); // of 20,000
});

// Root cause: a batch that timed out was not measured, so the slowness of a handler that heeds its signal was unknown.
test('a batch that timed out is learned as a lower bound of its duration', async () => {
  const clock = new VirtualClock();
  let durationMs = 20;
  const batcher = new Batcher(
    (items: number[], { signal }) =>
      new Promise<number[]>((resolve, reject) => {
        clock.setTimer(() => resolve(items), durationMs);
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
    { clock, targetLatencyMs: 100, timeoutMs: 250 },
  );
  const load = async (ms: number) => {
    for (let t = 0; t < ms; t += 10) {
      batcher.submit(t).catch(() => {});
      await clock.advance(10);
    }
  };
  await load(1000);
  durationMs = 300;
  await load(20_000);
  const { refused, expired } = batcher.stats();
  expect(refused).toBeGreaterThan(10 * expired);
});

test('a backend that fails every item at once is not learned as fast', async () => {
  const clock = new VirtualClock();
  const gate = new Gate<number, number | Error>();
  const batcher = new Batcher(gate.handler, { clock });
  void batcher.submit(1).catch(() => {});
  await clock.advance(50);
  gate.call(0).answer([1]);
  await clock.advance(0);
  for (let i = 1; i < 10; i++) {
    void batcher.submit(1).catch(() => {});
    await clock.advance(1);
    gate.call(i).answer([new Error('down')]);
    await clock.advance(0);
  }
  expect(batcher.stats().fullBatchMs).toBe(50);
});

// Root cause: the oldest item was searched while it was out of the queue for the policy, and the result was cached.
test('a policy that reads the queue and then oldestAt does not hold an item beyond maxWaitMs', async () => {
  const clock = new VirtualClock();
  const gate = new Gate<number, number>();
  const policy: Policy = {
    name: 'reading',
    decide: (view) => {
      view.costAt(0);
      void view.oldestAt;
      return { action: 'wait', until: Number.POSITIVE_INFINITY };
    },
  };
  const batcher = new Batcher(gate.handler, { clock, policy, maxWaitMs: 30, maxBatchSize: 2 });
  void batcher.submit(0);
  await clock.advance(30);
  void batcher.submit(1);
  await clock.advance(15);
  void batcher.submit(2);
  gate.call(0).answer([0]);
  await clock.advance(0);
  await clock.advance(14);
  expect(gate.batches).toEqual([[0]]);
  await clock.advance(1);
  expect(gate.batches).toEqual([[0], [1, 2]]);
});

test('an item that joins a running computation is accepted by a full queue', async () => {
  const clock = new VirtualClock();
  const gate = new Gate<number, number>();
  const batcher = new Batcher(gate.handler, {
    clock,
    maxQueueSize: 1,
    maxBatchSize: 1,
    dedupeBy: (item) => item,
  });
  const first = outcomeOf(batcher.submit(1));
  await clock.advance(0);
  const waiting = outcomeOf(batcher.submit(2));
  const joined = outcomeOf(batcher.submit(1));
  const rejected = outcomeOf(batcher.submit(3));
  await clock.advance(0);
  expect(rejected.code).toBe('QUEUE_FULL');
  gate.call(0).answer([1]);
  await clock.advance(0);
  gate.call(1).answer([2]);
  await clock.advance(0);
  expect([first.value, joined.value, waiting.value]).toEqual([1, 1, 2]);
});

test('stats() contain the last error of the policy', async () => {
  const clock = new VirtualClock();
  const fault = new Error('out of ideas');
  const policy: Policy = {
    name: 'faulty',
    decide: () => {
      throw fault;
    },
  };
  const batcher = new Batcher((items: number[]) => items, { clock, policy });
  void batcher.submit(1);
  await clock.advance(0);
  expect(batcher.stats()).toMatchObject({ policyErrors: 1, lastPolicyError: fault });
});
