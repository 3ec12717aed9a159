/** Guarantee 10: configure() changes limits and policy while items are queued and batches run, atomically. */
import { Batcher, type BatcherOptions, greedy, type LiveOptions, VirtualClock, window } from 'batchwise';
import { expect, test } from 'vitest';
import { expectRest } from './support/books.js';
import { Gate } from './support/gate.js';
import { outcomeOf } from './support/outcome.js';

function gated(options: BatcherOptions<number> = {}) {
  const clock = new VirtualClock();
  const gate = new Gate<number, number | Error>();
  const batcher = new Batcher<number, number>(gate.handler, { clock, ...options });
  const submit = (...items: number[]) => items.map((item) => outcomeOf(batcher.submit(item)));
  return { clock, gate, batcher, submit };
}

const held = { policy: window({ maxWaitMs: 1000 }) };

test('maxBatchSize lowered: queued items are dispatched in smaller batches', async () => {
  const { clock, gate, batcher, submit } = gated({ maxBatchSize: 4 });
  submit(0);
  await clock.advance(0);
  submit(1, 2, 3);
  batcher.configure({ maxBatchSize: 2 });
  gate.call(0).answer([0]);
  await clock.advance(0);
  expect(gate.batches).toEqual([[0], [1, 2]]);
});

test('maxBatchSize lowered: queued items that are a full batch now are dispatched at once', async () => {
  const { clock, gate, batcher, submit } = gated({ ...held, maxBatchSize: 4 });
  submit(1, 2);
  await clock.advance(1);
  expect(gate.batches).toEqual([]);
  batcher.configure({ maxBatchSize: 2 });
  await clock.advance(0);
  expect(gate.calls.map(({ items, context }) => [items, context.reason])).toEqual([[[1, 2], 'full']]);
});

test('maxBatchSize lowered: an item that no longer fits in a batch is rejected, other items stay', async () => {
  const { clock, gate, batcher, submit } = gated({ ...held, maxBatchSize: 10, costOf: (item) => item });
  const outcomes = submit(2, 5, 1);
  await clock.advance(0);
  batcher.configure({ maxBatchSize: 4 });
  await clock.advance(0);
  expect(outcomes.map(({ code, state }) => code ?? state)).toEqual(['pending', 'INVALID_ITEM', 'pending']);
  expect(outcomes[1]?.error).toMatchObject({
    message: expect.stringMatching(/cost \(5\) .* maxBatchSize \(4\)/),
  });
  expect(batcher.stats()).toMatchObject({
    refused: 1,
    refusals: { INVALID_ITEM: 1 },
    queued: 2,
    queuedCost: 3,
  });
  batcher.flush();
  await clock.advance(0);
  gate.call(0).answer([2, 1]);
  await clock.advance(0);
  expect(outcomes.map(({ value }) => value)).toEqual([2, undefined, 1]);
  expectRest(batcher);
});

// Root cause: after the first rejection the request cancels its other items, which are the next entries of the loop
// over the queue. The loop must neither settle them again nor stop there.
test('maxBatchSize lowered: a request with several items too large is rejected once', async () => {
  const { clock, gate, batcher, submit } = gated({ ...held, maxBatchSize: 100, costOf: (item) => item });
  const request = outcomeOf(batcher.submitMany([5, 6, 1]));
  const [late, small] = submit(7, 2);
  await clock.advance(0);
  batcher.configure({ maxBatchSize: 4 });
  await clock.advance(0);
  expect([request.code, late?.code, small?.state]).toEqual(['INVALID_ITEM', 'INVALID_ITEM', 'pending']);
  expect(batcher.stats()).toMatchObject({ queued: 1, queuedCost: 2 });
  batcher.flush();
  await clock.advance(0);
  gate.call(0).answer([2]);
  await clock.advance(0);
  expectRest(batcher);
});

test('maxBatchSize raised: the next batch is larger', async () => {
  const { clock, gate, batcher, submit } = gated({ maxBatchSize: 2 });
  submit(1, 2);
  await clock.advance(0);
  submit(3, 4, 5, 6);
  batcher.configure({ maxBatchSize: -1 });
  gate.call(0).answer([1, 2]);
  await clock.advance(0);
  expect(gate.batches).toEqual([
    [1, 2],
    [3, 4, 5, 6],
  ]);
});

test('concurrency raised: waiting batches start at once', async () => {
  const { clock, gate, batcher, submit } = gated({ maxBatchSize: 1 });
  submit(1, 2, 3, 4);
  await clock.advance(0);
  expect(gate.batches).toEqual([[1]]);
  batcher.configure({ concurrency: 3 });
  expect(gate.batches).toEqual([[1], [2], [3]]);
  expect(batcher.stats()).toMatchObject({ batchesRunning: 3, queued: 1 });
});

test('concurrency lowered: running batches continue, and none starts until enough have ended', async () => {
  const { clock, gate, batcher, submit } = gated({ maxBatchSize: 1, concurrency: 3 });
  submit(1, 2, 3, 4);
  await clock.advance(0);
  batcher.configure({ concurrency: 1 });
  gate.call(0).answer([1]);
  gate.call(1).answer([2]);
  await clock.advance(0);
  expect(gate.batches).toHaveLength(3);
  gate.call(2).answer([3]);
  await clock.advance(0);
  expect(gate.batches).toHaveLength(4);
});

test('maxWaitMs lowered: items that have waited that long are dispatched at once', async () => {
  const { clock, gate, batcher, submit } = gated(held);
  submit(1);
  await clock.advance(50);
  batcher.configure({ maxWaitMs: 40 });
  expect(gate.calls.map(({ context }) => context.reason)).toEqual(['window']);
});

test('policy replaced while items are queued: the new policy decides at once', async () => {
  const { clock, gate, batcher, submit } = gated(held);
  submit(1);
  await clock.advance(1);
  batcher.configure({ policy: greedy() });
  expect(gate.batches).toEqual([[1]]);
});

test('policy replaced while a batch runs: the new policy observes its end', async () => {
  const { clock, gate, batcher, submit } = gated();
  submit(1);
  await clock.advance(5);
  const learned: number[] = [];
  batcher.configure({ policy: { ...greedy(), observeBatch: ({ durationMs }) => learned.push(durationMs) } });
  gate.call(0).answer([1]);
  await clock.advance(0);
  expect(learned).toEqual([5]);
});

test('maxQueueSize changed: it applies to new items, and no queued item is rejected', async () => {
  const { clock, batcher, submit } = gated();
  submit(0); // keeps the slot
  await clock.advance(0);
  const first = submit(1, 2, 3);
  batcher.configure({ maxQueueSize: 2 });
  const [rejected] = submit(4);
  batcher.configure({ maxQueueSize: -1 });
  const [accepted] = submit(5);
  await clock.advance(0);
  expect([...first, accepted].map((outcome) => outcome?.state)).toEqual(Array(4).fill('pending'));
  expect(rejected?.code).toBe('QUEUE_FULL');
});

test('timeoutMs and handlerTimeoutMs changed: they apply to later calls', async () => {
  const { clock, batcher, submit } = gated({ timeoutMs: 100 });
  const [before] = submit(1);
  await clock.advance(0);
  batcher.configure({ timeoutMs: 10, handlerTimeoutMs: 50 });
  const [after] = submit(2);
  await clock.advance(10);
  expect([before?.state, after?.code]).toEqual(['pending', 'DEADLINE_EXCEEDED']);
  await clock.advance(90);
  expect(before?.code).toBe('DEADLINE_EXCEEDED');
});

test('handlerTimeoutMs changed: it applies to the next batch', async () => {
  const { clock, gate, batcher, submit } = gated();
  submit(1);
  await clock.advance(0);
  batcher.configure({ handlerTimeoutMs: 50 });
  const [next] = submit(2);
  await clock.advance(100);
  gate.call(0).answer([1]);
  await clock.advance(50);
  expect(next?.code).toBe('HANDLER_TIMEOUT');
});

test('targetLatencyMs changed: new items that cannot meet it are rejected', async () => {
  const { clock, gate, batcher, submit } = gated();
  for (const batch of [0, 1]) {
    submit(batch);
    await clock.advance(80);
    gate.call(batch).answer([batch]);
    await clock.advance(0);
  }
  batcher.configure({ targetLatencyMs: 50 });
  const [rejected] = submit(2);
  await clock.advance(0);
  expect(rejected?.code).toBe('OVERLOADED');
});

test('costOf, groupOf, dedupeBy and isolate changed: they apply to new items', async () => {
  const { clock, gate, batcher, submit } = gated(held);
  submit(1, 1);
  batcher.configure({ costOf: () => 2, groupOf: () => 'new', dedupeBy: (item) => item, isolate: true });
  const outcomes = submit(3, 3, 4);
  expect(batcher.stats()).toMatchObject({ queued: 5, queuedCost: 6 });
  batcher.configure({ policy: greedy(), concurrency: 2 });
  await clock.advance(0);
  expect(gate.calls.map(({ items, context }) => [items, context.group])).toEqual([
    [[1, 1], undefined],
    [[3, 4], 'new'],
  ]);
  gate.call(1).fail(new Error('one of them'));
  await clock.advance(0);
  gate.call(2).answer([3]);
  await clock.advance(0);
  gate.call(3).fail(new Error('it was four'));
  await clock.advance(0);
  expect(outcomes.map(({ value, code }) => value ?? code)).toEqual([3, 3, 'HANDLER_FAILED']);
});

const right: Required<LiveOptions<number>> = {
  maxBatchSize: 1,
  batchSizes: [1],
  admission: false,
  maxWaitMs: 1,
  targetLatencyMs: 1,
  timeoutMs: 1,
  maxQueueSize: 1,
  concurrency: 5,
  handlerTimeoutMs: 1,
  costOf: () => 3,
  groupOf: (item) => item,
  dedupeBy: () => 1,
  isolate: true,
  policy: greedy(),
};

test.each(Object.keys(right))('an invalid %s changes no option at all', async (wrongKey) => {
  const { clock, gate, batcher, submit } = gated({ maxBatchSize: 3 });
  const wrong = { ...right, [wrongKey]: 'wrong' };
  expect(() => batcher.configure(wrong as never)).toThrow(`${wrongKey}: expected`);
  const outcomes = submit(1, 2, 2, 3);
  await clock.advance(100);
  expect(gate.batches).toEqual([[1, 2, 2]]);
  gate.call(0).answer([1, 2, 2]);
  await clock.advance(0);
  gate.call(1).answer([3]);
  await clock.advance(0);
  expect(outcomes.map(({ value }) => value)).toEqual([1, 2, 2, 3]);
});

test.each([
  ['name', 'other'],
  ['clock', new VirtualClock()],
  ['priorityAgeMs', 5],
])('%s cannot be changed, as the message says', (key, value) => {
  const { batcher } = gated({ maxBatchSize: 3 });
  const change = { maxBatchSize: 1, [key]: value };
  expect(() => batcher.configure(change as never)).toThrow(`${key} cannot be changed after construction`);
  expect(batcher.stats().name).toBe('batcher');
});

test('options that are undefined change nothing', async () => {
  const { clock, gate, batcher, submit } = gated({ maxBatchSize: 2 });
  batcher.configure({ maxBatchSize: undefined, policy: undefined, concurrency: 1 } as never);
  submit(1, 2, 3);
  await clock.advance(0);
  expect(gate.batches).toEqual([[1, 2]]);
});

test('flush dispatches queued items with the reason manual, and later items are held as before', async () => {
  const { clock, gate, batcher, submit } = gated({ ...held, maxBatchSize: 2, concurrency: 2 });
  submit(1, 2, 3);
  await clock.advance(1);
  batcher.flush();
  expect(gate.calls.map(({ items, context }) => [items, context.reason])).toEqual([
    [[1, 2], 'full'],
    [[3], 'manual'],
  ]);
  await clock.advance(1);
  gate.call(0).answer([1, 2]);
  submit(4);
  await clock.advance(998);
  expect(gate.batches).toHaveLength(2);
  await clock.advance(2);
  expect(gate.calls[2]?.context.reason).toBe('window');
});

test('flush while all slots are busy: items queued then are dispatched when a slot is free', async () => {
  const { clock, gate, batcher, submit } = gated({ ...held, maxBatchSize: 2 });
  submit(1, 2);
  await clock.advance(0);
  submit(3);
  batcher.flush();
  batcher.flush();
  await clock.advance(5);
  gate.call(0).answer([1, 2]);
  await clock.advance(0);
  expect(gate.calls[1]?.context.reason).toBe('manual');
});

test('flush of an empty queue has no effect on later items', async () => {
  const { clock, gate, batcher, submit } = gated(held);
  batcher.flush();
  submit(1);
  await clock.advance(999);
  expect(gate.batches).toEqual([]);
});
