/** `context.answer()`: handlers that answer items one by one instead of all at the end. */
import { type BatchContext, Batcher, BatchwiseError } from 'batchwise';
import { expect, test } from 'vitest';
import { gated } from './support/gate.js';

const settled = async (promise: Promise<unknown>): Promise<unknown> =>
  Promise.race([promise.catch((error: unknown) => error), Promise.resolve().then(() => PENDING)]);
const PENDING = Symbol('pending');

async function three(options = {}) {
  const { batcher, gate, clock } = gated(options);
  const promises = [batcher.submit(1), batcher.submit(2), batcher.submit(3)];
  for (const promise of promises) promise.catch(() => {});
  await clock.advance(1);
  const { context, answer, fail } = gate.call(0);
  return { batcher, promises, context, answer, fail, clock, gate };
}

test('an item is answered before the rest of its batch, which keeps its slot', async () => {
  const { batcher, promises, context, answer } = await three();
  context.answer(1, 20);
  expect(await promises[1]).toBe(20);
  expect(await settled(promises[0] as Promise<number>)).toBe(PENDING);
  expect(batcher.stats()).toMatchObject({ succeeded: 1, running: 2, batchesRunning: 1 });
  context.answer(0, 10);
  context.answer(2, 30);
  answer(context.answered as never[]);
  expect(await Promise.all(promises)).toEqual([10, 20, 30]);
  await batcher.close();
  expect(batcher.stats()).toMatchObject({ succeeded: 3, running: 0 });
});

test('the first answer counts; later ones and the returned result are ignored', async () => {
  const { promises, context, answer } = await three();
  context.answer(0, 10);
  context.answer(0, 11);
  answer([12, 20, 30]);
  expect(await Promise.all(promises)).toEqual([10, 20, 30]);
  context.answer(1, 21);
});

test('an error as an answer fails only its item', async () => {
  const { promises, context, answer } = await three();
  const error = new Error('bad row');
  context.answer(0, error);
  answer([0, 20, 30]);
  await expect(promises[0]).rejects.toBe(error);
  expect(await promises[1]).toBe(20);
});

test('a handler that returns context.answered too early: unanswered items get BAD_RESULT', async () => {
  const { batcher, promises, context, answer } = await three();
  context.answer(2, 30);
  answer(context.answered as never[]);
  await expect(promises[0]).rejects.toMatchObject({
    code: 'BAD_RESULT',
    message:
      'batcher: the handler returned context.answered without a call of context.answer() for this item.',
  });
  await expect(promises[1]).rejects.toMatchObject({ code: 'BAD_RESULT' });
  expect(await promises[2]).toBe(30);
  expect(batcher.stats()).toMatchObject({ succeeded: 1, failed: 2, running: 0 });
});

test('a handler that throws after some answers: only unanswered items fail', async () => {
  const { promises, context, fail } = await three();
  context.answer(0, 10);
  fail(new Error('connection reset'));
  expect(await promises[0]).toBe(10);
  await expect(promises[1]).rejects.toMatchObject({ code: 'HANDLER_FAILED' });
});

test('with isolate, answered items are not executed again', async () => {
  const { promises, context, fail, gate, clock } = await three({ isolate: true });
  context.answer(1, 20);
  fail(new Error('down'));
  await clock.advance(1);
  gate.call(1).answer([10]);
  await clock.advance(1);
  gate.call(2).answer([30]);
  expect(await Promise.all(promises)).toEqual([10, 20, 30]);
  expect(gate.batches).toEqual([[1, 2, 3], [1], [3]]);
});

test('the signal fires when the last unanswered item is cancelled', async () => {
  const { batcher, gate, clock } = gated();
  const controller = new AbortController();
  const first = batcher.submit(1);
  const second = batcher.submit(2, { signal: controller.signal });
  await clock.advance(1);
  const { context, answer } = gate.call(0);
  context.answer(0, 10);
  expect(await first).toBe(10);
  expect(context.signal.aborted).toBe(false);
  controller.abort();
  await expect(second).rejects.toMatchObject({ code: 'CANCELLED' });
  expect(context.signal.aborted).toBe(true);
  answer(context.answered as never[]);
  await batcher.close();
});

test('all callers of a shared item get its early answer', async () => {
  const { batcher, gate, clock } = gated({ dedupeBy: (item) => item });
  const promises = [batcher.submit(1), batcher.submit(1), batcher.submit(2)];
  await clock.advance(1);
  const { context, answer } = gate.call(0);
  context.answer(0, 10);
  expect(await Promise.all(promises.slice(0, 2))).toEqual([10, 10]);
  context.answer(1, 20);
  answer(context.answered as never[]);
  expect(await promises[2]).toBe(20);
  await batcher.close();
  expect(batcher.stats()).toMatchObject({ submitted: 3, succeeded: 3, running: 0 });
});

test('answers after a handler time-out are ignored', async () => {
  const { promises, context, clock } = await three({ handlerTimeoutMs: 10 });
  context.answer(0, 10);
  await clock.advance(20);
  context.answer(1, 20);
  expect(await promises[0]).toBe(10);
  await expect(promises[1]).rejects.toMatchObject({ code: 'HANDLER_TIMEOUT' });
});

test.each([3, -1, 0.5, Number.NaN])('context.answer() rejects the position %s', async (index) => {
  const { context, answer, promises } = await three();
  expect(() => context.answer(index as number, 1)).toThrow(
    /context\.answer\(index, result\): expected a position from 0 to 2 as index, got /,
  );
  answer([1, 2, 3]);
  expect(await Promise.all(promises)).toEqual([1, 2, 3]);
});

test('a promise as an answer is BAD_RESULT', async () => {
  const { promises, context, answer } = await three();
  context.answer(0, Promise.reject(new Error('unseen')));
  answer([0, 2, 3]);
  await expect(promises[0]).rejects.toMatchObject({ code: 'BAD_RESULT' });
});

test('a rejection of a downstream queue counts as refused, an expiry as expired', async () => {
  const inner = new BatchwiseError('QUEUE_FULL', 'the queue behind is full', { retryAfterMs: 7 });
  const late = new BatchwiseError('DEADLINE_EXCEEDED', 'too late');
  const cancelled = new BatchwiseError('CANCELLED', 'cancelled');
  const handler = (items: number[], context: BatchContext) => {
    context.answer(0, inner);
    context.answer(1, late);
    context.answer(2, cancelled);
    context.answer(3, new Error('own'));
    return items;
  };
  await using batcher = new Batcher(handler);
  const ended = await Promise.allSettled([1, 2, 3, 4, 5].map((item) => batcher.submit(item)));
  expect(ended[0]).toMatchObject({ reason: inner });
  expect(batcher.stats()).toMatchObject({
    submitted: 5,
    succeeded: 1,
    failed: 1,
    refused: 1,
    expired: 1,
    cancelled: 1,
    running: 0,
    refusals: { QUEUE_FULL: 1 },
  });
});

test('onGone() reports items whose caller has cancelled while other callers wait', async () => {
  const { batcher, gate, clock } = gated();
  const controller = new AbortController();
  const first = batcher.submit(1);
  const second = batcher.submit(2, { signal: controller.signal });
  const third = batcher.submit(3, { timeoutMs: 10 });
  for (const promise of [second, third]) promise.catch(() => {});
  await clock.advance(1);
  const { context, answer } = gate.call(0);
  const gone: number[] = [];
  context.onGone((index) => gone.push(index));
  controller.abort();
  expect(gone).toEqual([1]);
  await clock.advance(20);
  expect(gone).toEqual([1, 2]);
  answer([10, 20, 30]);
  expect(await first).toBe(10);
});

test('onGone() reports a shared item when its last caller has cancelled', async () => {
  const { batcher, gate, clock } = gated({ dedupeBy: (item) => item });
  const controllers = [new AbortController(), new AbortController()];
  const promises = controllers.map(({ signal }) => batcher.submit(1, { signal }));
  for (const promise of promises) promise.catch(() => {});
  const other = batcher.submit(2);
  await clock.advance(1);
  const { context, answer } = gate.call(0);
  const gone: number[] = [];
  context.onGone((index) => gone.push(index));
  controllers[0]?.abort();
  expect(gone).toEqual([]);
  controllers[1]?.abort();
  expect(gone).toEqual([0]);
  answer([10, 20]);
  expect(await other).toBe(20);
});
