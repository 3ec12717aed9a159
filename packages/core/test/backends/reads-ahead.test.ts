/** Backends that take a full batch while all their slots are busy. */
import { type Batcher, type BatchRecord, greedy as greedyPolicy, onBatch } from 'batchwise';
import { expect, onTestFinished, test } from 'vitest';
import { expectBooksToBalance, expectRest } from '../support/books.js';
import { GatedBackend, notStarted, placed } from '../support/gated-backend.js';
import { outcomeOf } from '../support/outcome.js';

const greedy = { maxBatchSize: 4, policy: greedyPolicy() };

function submit(batcher: Batcher<number, number>, from: number, to: number, options = {}) {
  const items = Array.from({ length: to - from }, (_, i) => from + i);
  return items.map((item) => outcomeOf(batcher.submit(item, options)));
}

function recordsOf(name: string): BatchRecord[] {
  const records: BatchRecord[] = [];
  onTestFinished(onBatch((record) => record.name === name && records.push(record)));
  return records;
}

test('a full batch is sent ahead, one for each backend', async () => {
  const [a, b] = [new GatedBackend('a', 1, true), new GatedBackend('b', 1, true)];
  const { clock, batcher } = placed([a, b], greedy);
  submit(batcher, 0, 24);
  await clock.advance(1);
  expect([a.batches.length, b.batches.length, batcher.stats().queued]).toEqual([2, 2, 8]);
  expectBooksToBalance(batcher);
});

test('a batch that can still grow is not sent ahead', async () => {
  const a = new GatedBackend('a', 1, true);
  const { clock, batcher } = placed([a], greedy);
  submit(batcher, 0, 7);
  await clock.advance(1);
  expect(a.batches).toEqual([[0, 1, 2, 3]]);
  submit(batcher, 7, 8);
  await clock.advance(1);
  expect(a.batches).toEqual([
    [0, 1, 2, 3],
    [4, 5, 6, 7],
  ]);
});

test('a backend that does not read ahead gets batches only for free slots', async () => {
  const a = new GatedBackend('a');
  const { clock, batcher } = placed([a], greedy);
  submit(batcher, 0, 12);
  await clock.advance(1);
  expect(a.batches).toEqual([[0, 1, 2, 3]]);
});

test('a free backend gets the next batch although the other has a batch ahead', async () => {
  const [a, b] = [new GatedBackend('a', 1, true), new GatedBackend('b', 1, true)];
  const { clock, batcher } = placed([a, b], { ...greedy, concurrency: 2 });
  submit(batcher, 0, 16);
  await clock.advance(1);
  for (const call of b.gate.calls) call.answer(call.items);
  await clock.advance(1);
  submit(batcher, 16, 17);
  await clock.advance(1);
  expect(b.batches).toEqual([expect.anything(), expect.anything(), [16]]);
});

test('the duration of a batch counts from the end of the batch before it', async () => {
  const a = new GatedBackend('a', 1, true);
  const records = recordsOf('ahead');
  const { clock, batcher } = placed([a], { ...greedy, name: 'ahead' });
  submit(batcher, 0, 8);
  for (const [i, ms] of [30, 20].entries()) {
    await clock.advance(ms);
    const call = a.gate.call(i);
    call.answer(call.items);
    await clock.advance(0);
  }
  expect(records.map(({ startedAt, durationMs }) => [startedAt, durationMs])).toEqual([
    [0, 30],
    [30, 20],
  ]);
  expect(records[1]?.waitsMs).toEqual([30, 30, 30, 30]);
  expect(batcher.stats().curve).toMatchObject([{ cost: 4, durationMs: 20 }]);
  expectRest(batcher);
});

test('the timeout of a batch counts from its start; a batch ahead of a hung one goes back to the queue', async () => {
  const a = new GatedBackend('a', 1, true);
  const { clock, batcher } = placed([a], { ...greedy, handlerTimeoutMs: 100 });
  const all = submit(batcher, 0, 8);
  await clock.advance(100);
  expect(await Promise.all(all.slice(0, 4))).toMatchObject(
    new Array(4).fill({ error: { code: 'HANDLER_TIMEOUT' } }),
  );
  // The process was killed: the batch that it had only read was not started.
  a.gate.call(1).fail(notStarted('a'));
  await clock.advance(0);
  const call = a.gate.call(2);
  expect(call.items).toEqual([4, 5, 6, 7]);
  await clock.advance(99);
  call.answer(call.items);
  await clock.advance(0);
  expect(all.slice(4)).toMatchObject([4, 5, 6, 7].map((value) => ({ value })));
  expectRest(batcher);
});

test('the predicted latency of a new item includes the batch ahead', async () => {
  const a = new GatedBackend('a', 1, true);
  const curve = [{ cost: 4, durationMs: 100 }];
  const { clock, batcher } = placed([a], { ...greedy, curve });
  submit(batcher, 0, 8);
  await clock.advance(1);
  // Two batches of 100 ms are with the backend: 99 + 100 ms until the next starts.
  const [tooSoon] = submit(batcher, 8, 9, { timeoutMs: 250 });
  await clock.advance(0);
  expect(tooSoon).toMatchObject({ code: 'OVERLOADED' });
  submit(batcher, 9, 10, { timeoutMs: 350 });
  await clock.advance(0);
  expect(batcher.stats().queued).toBe(1);
  batcher.destroy();
});
