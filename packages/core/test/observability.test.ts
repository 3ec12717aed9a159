/** Guarantee 9: statistics and records can be read at any time, without side effects. */
import { channel } from 'node:diagnostics_channel';
import {
  BATCH_CHANNEL,
  Batcher,
  type BatcherOptions,
  type BatchRecord,
  BatchwiseError,
  onBatch,
  type Policy,
  VirtualClock,
  window,
} from 'batchwise';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { expectBooksToBalance, expectRest } from './support/books.js';
import { Gate } from './support/gate.js';
import { outcomeOf } from './support/outcome.js';
import { RecordingSink } from './support/recording-sink.js';
import { uncaughtErrorsDuring } from './support/uncaught.js';

let records: BatchRecord[] = [];
let stopListening = () => {};

beforeEach(() => {
  records = [];
  stopListening = onBatch((record) => records.push(record));
});
afterEach(() => stopListening());

function gated(options: BatcherOptions<string> = {}) {
  const clock = new VirtualClock();
  const gate = new Gate<string, string | Error>();
  const batcher = new Batcher<string, string>(gate.handler, { clock, ...options });
  return { clock, gate, batcher };
}

test('stats() add up inside the handler, the policy, the sinks and the subscribers', async () => {
  const clock = new VirtualClock();
  const places = new Set<string>();
  const faults: unknown[] = []; // collected, because the observed callbacks may swallow errors
  const look = (place: string) => {
    places.add(place);
    try {
      expectBooksToBalance(batcher);
    } catch (fault) {
      faults.push(place, fault);
    }
  };
  const policy: Policy = {
    name: 'looking',
    decide: (view) => {
      look('decide');
      for (let i = 0; i < view.length; i++) view.costAt(i);
      look('decide, having looked');
      if (view.length > 3) return { action: 'reject', positions: [0] };
      return { action: 'dispatch', count: view.length, reason: 'idle' };
    },
    observeArrivals: () => look('observeArrivals'),
    observeBatch: () => look('observeBatch'),
    prepare: () => look('prepare'),
  };
  const batcher: Batcher<string, string> = new Batcher<string, string>(
    (items) => {
      look('handler');
      return items.map((item) => (item === 'bad' ? new Error('bad') : item));
    },
    { clock, policy, maxBatchSize: 3, costOf: () => 0.3, dedupeBy: (item) => item },
  );
  const stop = onBatch(() => look('subscriber'));
  const tickets = [];
  for (const item of ['a', 'a', 'bad', 'b', 'gone', 'c', 'd']) {
    tickets.push(batcher.enqueue(item, new RecordingSink(() => look('sink'))));
  }
  tickets[4]?.cancel();
  await clock.advance(10);
  stop();
  expect(faults).toEqual([]);
  expect([...places].sort()).toEqual(
    [
      'decide',
      'decide, having looked',
      'handler',
      'observeArrivals',
      'observeBatch',
      'prepare',
      'sink',
      'subscriber',
    ].sort(),
  );
  expectRest(batcher);
});

test('stats() return a snapshot that later events do not change', async () => {
  const { clock, gate, batcher } = gated({ name: 'resnet' });
  void batcher.submit('a');
  const before = batcher.stats();
  Object.assign(before.reasons, { idle: 99 });
  Object.assign(before.refusals, { CLOSED: 99 });
  await clock.advance(0);
  gate.call(0).answer(['A']);
  await clock.advance(0);
  expect(before).toMatchObject({ name: 'resnet', state: 'open', submitted: 1, queued: 1, batches: 0 });
  expect(batcher.stats()).toMatchObject({ reasons: { idle: 1 }, refusals: {}, batches: 1, batchedItems: 1 });
});

test('a batch is published with all its properties', async () => {
  const { clock, gate, batcher } = gated({ name: 'resnet', costOf: Number, groupOf: () => 'g' });
  await clock.advance(100);
  void batcher.submit('2');
  await clock.advance(0);
  void batcher.submit('3');
  await clock.advance(4);
  const own = outcomeOf(batcher.submit('5'));
  await clock.advance(6);
  gate.call(0).answer(['two']);
  await clock.advance(15);
  gate.call(1).answer(['three', new Error('five')]);
  await clock.advance(0);
  expect(own.state).toBe('rejected');
  expect(records).toEqual([
    {
      name: 'resnet',
      size: 1,
      cost: 2,
      reason: 'idle',
      group: 'g',
      startedAt: 100,
      durationMs: 10,
      waitsMs: [0],
      calls: 1,
      succeeded: 1,
      failed: 0,
      error: undefined,
    },
    {
      name: 'resnet',
      size: 2,
      cost: 8,
      reason: 'idle',
      group: 'g',
      startedAt: 110,
      durationMs: 15,
      waitsMs: [10, 6],
      calls: 1,
      succeeded: 1,
      failed: 1,
      error: undefined,
    },
  ]);
});

test('every dispatch reason is published', async () => {
  const { clock, gate, batcher } = gated({
    maxBatchSize: 2,
    concurrency: Infinity,
    groupOf: (item) => item[0],
  });
  const leave = async (...items: string[]) => {
    for (const item of items) void batcher.submit(item);
    await clock.advance(0);
  };
  await leave('a', 'a'); // full
  await leave('a'); // idle
  await leave('a', 'b'); // group, idle
  batcher.configure({ policy: window({ maxWaitMs: 10 }) });
  await leave('a');
  await clock.advance(10); // window
  batcher.configure({ policy: window({ maxWaitMs: 1000 }), maxWaitMs: 10 });
  await leave('a');
  await clock.advance(10); // window, by the limit
  const late: Policy = { name: 'late', decide: () => ({ action: 'dispatch', count: 1, reason: 'deadline' }) };
  batcher.configure({ policy: late });
  await leave('a'); // deadline
  batcher.configure({ policy: window({ maxWaitMs: 1000 }), maxWaitMs: Infinity });
  await leave('a');
  batcher.flush(); // manual
  await clock.advance(1);
  await leave('a');
  void batcher.close(); // drain
  await clock.advance(0);
  for (const { items, answer } of gate.calls) answer(items);
  await clock.advance(0);
  const expected = ['full', 'idle', 'group', 'idle', 'window', 'window', 'deadline', 'manual', 'drain'];
  expect(gate.calls.map(({ context }) => context.reason)).toEqual(expected);
  expect(records.map(({ reason }) => reason)).toEqual(expected);
  expect(batcher.stats().reasons).toEqual({
    full: 1,
    idle: 2,
    window: 2,
    deadline: 1,
    group: 1,
    drain: 1,
    manual: 1,
  });
});

test('a failed batch is published with the error of the handler', async () => {
  const { clock, gate, batcher } = gated();
  const thrown = new Error('out of memory');
  const outcome = outcomeOf(batcher.submit('a'));
  await clock.advance(7);
  gate.call(0).fail(thrown);
  await clock.advance(0);
  expect(outcome.code).toBe('HANDLER_FAILED');
  expect(records).toMatchObject([{ error: thrown, succeeded: 0, failed: 1, durationMs: 7, calls: 1 }]);
});

test.each([
  ['BAD_RESULT', ({ gate }: ReturnType<typeof gated>) => gate.call(0).answer([])],
  ['HANDLER_TIMEOUT', ({ clock }: ReturnType<typeof gated>) => clock.advance(50)],
  ['CLOSED', ({ batcher }: ReturnType<typeof gated>) => batcher.destroy()],
])('a batch that ended with %s is published with that error', async (code, end) => {
  const context = gated({ handlerTimeoutMs: 50 });
  const outcome = outcomeOf(context.batcher.submit('a'));
  await context.clock.advance(0);
  await end(context);
  await context.clock.advance(0);
  expect(outcome.code).toBe(code);
  expect(records).toHaveLength(1);
  expect(records[0]).toMatchObject({ size: 1, succeeded: 0, failed: 1, calls: 1 });
  expect(records[0]?.error).toBeInstanceOf(BatchwiseError);
  expect(records[0]?.error).toMatchObject({ code });
});

test('a bisected batch is one record, with all its calls and its whole duration', async () => {
  const { clock, gate, batcher } = gated({ isolate: true });
  for (const item of ['a', 'poison', 'b', 'c']) void batcher.submit(item).catch(() => {});
  await clock.advance(0);
  for (let call = 0; call < gate.calls.length; call++) {
    await clock.advance(10);
    const { items, answer, fail } = gate.call(call);
    if (items.includes('poison')) fail(new Error('poisoned'));
    else answer(items);
    await clock.advance(0);
  }
  expect(gate.batches).toEqual([['a', 'poison', 'b', 'c'], ['a', 'poison'], ['a'], ['poison'], ['b', 'c']]);
  expect(records).toMatchObject([{ size: 4, calls: 5, succeeded: 3, failed: 1, durationMs: 50 }]);
  expect(records[0]?.error).toHaveProperty('message', 'poisoned');
});

test('cancelled callers count neither as succeeded nor as failed', async () => {
  const { clock, gate, batcher } = gated();
  const ticket = batcher.enqueue('a', new RecordingSink());
  void batcher.submit('b');
  await clock.advance(0);
  ticket.cancel();
  gate.call(0).answer(['A', 'B']);
  await clock.advance(0);
  expect(records).toMatchObject([{ size: 2, succeeded: 1, failed: 0, waitsMs: [0, 0] }]);
});

test('the record is published on the channel of node:diagnostics_channel', async () => {
  expect(BATCH_CHANNEL).toBe('batchwise:batch');
  const seen: unknown[] = [];
  const listener = (message: unknown) => seen.push(message);
  channel('batchwise:batch').subscribe(listener);
  const { clock, gate, batcher } = gated();
  void batcher.submit('a');
  await clock.advance(0);
  gate.call(0).answer(['A']);
  await clock.advance(0);
  channel('batchwise:batch').unsubscribe(listener);
  expect(seen).toEqual(records);
});

test('an unsubscribed listener is not called again', async () => {
  const { clock, gate, batcher } = gated();
  stopListening();
  stopListening();
  void batcher.submit('a');
  await clock.advance(0);
  gate.call(0).answer(['A']);
  await clock.advance(0);
  expect(records).toEqual([]);
});

test('a subscriber that throws does not affect the batch or other subscribers, and its error is uncaught', async () => {
  const { clock, gate, batcher } = gated({ maxBatchSize: 1 });
  const broken = new Error('broken subscriber');
  const stopBroken = onBatch(() => {
    throw broken;
  });
  const after: BatchRecord[] = [];
  const stopAfter = onBatch((record) => after.push(record));
  const outcomes = ['a', 'b'].map((item) => outcomeOf(batcher.submit(item)));
  const uncaught = await uncaughtErrorsDuring(async () => {
    for (let call = 0; call < 2; call++) {
      await clock.advance(0);
      gate.call(call).answer(gate.call(call).items);
    }
    await clock.advance(0);
  });
  stopBroken();
  stopAfter();
  expect(uncaught).toEqual([broken, broken]);
  expect(outcomes.map(({ value }) => value)).toEqual(['a', 'b']);
  expect(after).toHaveLength(2);
  expectRest(batcher);
});

test('a sink receives the record of its batch, with its duration', async () => {
  const { clock, gate, batcher } = gated({ name: 'resnet' });
  const sink = new RecordingSink<string>();
  batcher.enqueue('a', sink);
  await clock.advance(12);
  gate.call(0).answer(['A']);
  await clock.advance(0);
  expect(sink.batches).toMatchObject([
    {
      name: 'resnet',
      size: 1,
      cost: 1,
      reason: 'idle',
      startedAt: 0,
      durationMs: 12,
      waitsMs: [0],
      calls: 1,
    },
  ]);
});
