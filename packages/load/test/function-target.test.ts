/** A function as a target: how it ends is an outcome, and users without pauses leave the event loop alive. */
import { Batcher, BatchwiseError } from 'batchwise';
import { expect, test } from 'vitest';
import { functionTarget } from '../src/targets/function-target.js';
import { counted, sendAll } from './support/send-all.js';

test('results, errors and rejections are counted', async () => {
  const ends = [
    () => 1,
    async () => 2,
    () => Promise.reject(new TypeError('no row')),
    () => {
      throw new BatchwiseError('QUEUE_FULL', 'The queue is full (limit 10).');
    },
    () => Promise.reject(new BatchwiseError('HANDLER_FAILED', 'item 3')),
  ];
  const target = functionTarget('classify', (number) => ends[number % ends.length]?.());
  expect(target.name).toBe('classify');
  expect(counted(await sendAll(target, 100, 7))).toEqual({
    ok: 40,
    'failed TypeError: no row': 20,
    'rejected QUEUE_FULL': 20,
    'failed HANDLER_FAILED': 20,
  });
});

test('a batcher that rejects is a target that rejects', async () => {
  const handler = (rows: number[]) => Promise.resolve(rows);
  await using batcher = new Batcher(handler, { maxQueueSize: 1, maxBatchSize: 1, concurrency: 1 });
  const target = functionTarget('batcher', (number) => batcher.submit(number));
  const { ok = 0, 'rejected QUEUE_FULL': rejected = 0 } = counted(await sendAll(target, 60, 6));
  expect(ok + rejected).toBe(60);
  expect(Math.min(ok, rejected)).toBeGreaterThan(0);
});

test('timers fire while users without pauses call a function that answers at once', async () => {
  let isFired = false;
  setTimeout(() => {
    isFired = true;
  }, 1);
  const target = functionTarget('instant', () => 1);
  await new Promise<void>((resolve) => {
    const send = () => target.send(0, () => (isFired ? resolve() : send()));
    send();
  });
});

test('calls that are under way when the target is closed fail, and do not end again', async () => {
  let finish: (() => void) | undefined;
  const target = functionTarget('slow', () => new Promise<void>((resolve) => (finish = resolve)));
  const ends = sendAll(target, 1, 1);
  await target.close();
  expect(counted(await ends)).toEqual({ 'failed stopped': 1 });
  finish?.();
});
