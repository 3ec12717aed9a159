/** Guarantee 7: identical items in flight are computed once, for all their callers. */
import { Batcher, type BatcherOptions, type Decision, VirtualClock, window } from 'batchwise';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { expectBooksToBalance, expectRest } from './support/books.js';
import { forever } from './support/deciding.js';
import { Gate } from './support/gate.js';
import { GatedBackend, notStarted, placed } from './support/gated-backend.js';
import { outcomeOf } from './support/outcome.js';
import { RecordingSink } from './support/recording-sink.js';

const dispatchAll: Decision = { action: 'dispatch', count: Infinity, reason: 'idle' };
const square = (items: string[]) => items.map((item) => `${item}²`);

function sharing(options: BatcherOptions<string> = {}) {
  const clock = new VirtualClock();
  const gate = new Gate<string, string | Error>();
  const batcher = new Batcher<string, string>(gate.handler, { clock, dedupeBy: (item) => item, ...options });
  return { clock, gate, batcher };
}

test('identical queued items are computed once, and each caller gets the result', async () => {
  const { clock, gate, batcher } = sharing();
  const outcomes = ['a', 'b', 'a', 'a'].map((item) => outcomeOf(batcher.submit(item)));
  expect(batcher.stats()).toMatchObject({ queued: 4, queuedCost: 2 });
  await clock.advance(0);
  expect(gate.batches).toEqual([['a', 'b']]);
  expect(batcher.stats()).toMatchObject({ running: 4, batchedItems: 2 });
  gate.call(0).answer(square(['a', 'b']));
  await clock.advance(0);
  expect(outcomes.map(({ value }) => value)).toEqual(['a²', 'b²', 'a²', 'a²']);
  expect(batcher.stats().succeeded).toBe(4);
  expectRest(batcher);
});

test('a new item joins a computation that is already running', async () => {
  const { clock, gate, batcher } = sharing();
  const first = outcomeOf(batcher.submit('a'));
  await clock.advance(0);
  const second = outcomeOf(batcher.submit('a'));
  await clock.advance(10);
  expect(gate.batches).toEqual([['a']]);
  expect(batcher.stats()).toMatchObject({ queued: 0, running: 2 });
  gate.call(0).answer(['a²']);
  await clock.advance(0);
  expect([first.value, second.value]).toEqual(['a²', 'a²']);
  expectRest(batcher);
});

test('an item submitted after the result is computed again', async () => {
  const { clock, gate, batcher } = sharing();
  for (let call = 0; call < 3; call++) {
    const outcome = outcomeOf(batcher.submit('a'));
    await clock.advance(0);
    gate.call(call).answer([`answer ${call}`]);
    await clock.advance(0);
    expect(outcome.value).toBe(`answer ${call}`);
  }
});

test.each(['queued', 'running'])(
  'while %s, each caller cancels only its own call, including the first',
  async (when) => {
    const { clock, gate, batcher } = sharing();
    const first = new RecordingSink<string>();
    const others = [new RecordingSink<string>(), new RecordingSink<string>()];
    const ticket = batcher.enqueue('a', first);
    const [second] = others.map((sink) => batcher.enqueue('a', sink));
    if (when === 'running') await clock.advance(0);
    ticket.cancel();
    expect(first.fate).toBe('CANCELLED');
    await clock.advance(0);
    expect(gate.batches).toEqual([['a']]);
    second?.cancel();
    expect(gate.call(0).context.signal.aborted).toBe(false);
    gate.call(0).answer(['a²']);
    await clock.advance(0);
    expect(others.map(({ fate }) => fate)).toEqual(['CANCELLED', 'ok']);
    expect(batcher.stats()).toMatchObject({ succeeded: 1, cancelled: 2 });
    expectRest(batcher);
  },
);

test('an item whose callers have all cancelled in the queue is not executed', async () => {
  const { clock, gate, batcher } = sharing();
  const sinks = [new RecordingSink<string>(), new RecordingSink<string>()];
  const tickets = sinks.map((sink) => batcher.enqueue('a', sink));
  for (const ticket of tickets) ticket.cancel();
  await clock.advance(0);
  expect(gate.calls).toEqual([]);
  expectRest(batcher);
});

test('when all callers have cancelled a running item, the signal fires, and the next submit starts a new computation', async () => {
  const { clock, gate, batcher } = sharing({ concurrency: 2 });
  const controllers = [new AbortController(), new AbortController()];
  const outcomes = controllers.map(({ signal }) => outcomeOf(batcher.submit('a', { signal })));
  await clock.advance(0);
  controllers[0]?.abort();
  expect(gate.call(0).context.signal.aborted).toBe(false);
  controllers[1]?.abort();
  expect(gate.call(0).context.signal.aborted).toBe(true);
  const next = outcomeOf(batcher.submit('a'));
  await clock.advance(0);
  expect(gate.batches).toEqual([['a'], ['a']]);
  gate.call(1).answer(['new']);
  gate.call(0).answer(['old']);
  await clock.advance(0);
  expect(outcomes.map(({ code }) => code)).toEqual(['CANCELLED', 'CANCELLED']);
  expect(next.value).toBe('new');
  expectRest(batcher);
});

test('each caller has its own deadline; the item is executed for the latest one', async () => {
  const { clock, gate, batcher } = sharing();
  const blocker = outcomeOf(batcher.submit('blocker'));
  await clock.advance(0);
  const short = outcomeOf(batcher.submit('a', { timeoutMs: 10 }));
  const long = outcomeOf(batcher.submit('a', { timeoutMs: 100 }));
  const patient = outcomeOf(batcher.submit('a'));
  await clock.advance(10);
  expect([short.code, long.state]).toEqual(['DEADLINE_EXCEEDED', 'pending']);
  gate.call(0).answer(['done']);
  await clock.advance(90);
  expect([blocker.value, long.code, patient.state]).toEqual(['done', 'DEADLINE_EXCEEDED', 'pending']);
  gate.call(1).answer(['a²']);
  await clock.advance(0);
  expect(patient.value).toBe('a²');
  expect(batcher.stats()).toMatchObject({ succeeded: 2, expired: 2 });
  expectRest(batcher);
});

test('an item whose callers have all expired is not executed', async () => {
  const { clock, gate, batcher } = sharing();
  void batcher.submit('blocker');
  await clock.advance(0);
  const outcomes = [5, 10].map((timeoutMs) => outcomeOf(batcher.submit('a', { timeoutMs })));
  await clock.advance(10);
  gate.call(0).answer(['done']);
  await clock.advance(0);
  expect(outcomes.map(({ code }) => code)).toEqual(['DEADLINE_EXCEEDED', 'DEADLINE_EXCEEDED']);
  expect(gate.batches).toEqual([['blocker']]);
  expectRest(batcher);
});

test.each([
  [
    'its own error',
    (gate: Gate<string, string | Error>) => gate.call(0).answer([new Error('bad a'), 'b²']),
    'b²',
  ],
  [
    'the error of the batch',
    (gate: Gate<string, string | Error>) => gate.call(0).fail(new Error('bad a')),
    undefined,
  ],
])('%s is delivered to all callers of the item', async (_, end, answerOfB) => {
  const { clock, gate, batcher } = sharing();
  const sharers = [outcomeOf(batcher.submit('a')), outcomeOf(batcher.submit('a'))];
  const other = outcomeOf(batcher.submit('b'));
  await clock.advance(0);
  sharers.push(outcomeOf(batcher.submit('a')));
  end(gate);
  await clock.advance(0);
  for (const { state, error } of sharers) {
    expect(state).toBe('rejected');
    expect((error as Error).message).toContain('bad a');
  }
  expect(other.value).toBe(answerOfB);
  expectRest(batcher);
});

test('an item with the key undefined is not shared, and null is a key', async () => {
  const { clock, gate, batcher } = sharing({ dedupeBy: (item) => (item === 'none' ? undefined : null) });
  for (const item of ['none', 'some', 'none', 'other']) void batcher.submit(item);
  await clock.advance(0);
  expect(gate.batches).toEqual([['none', 'some', 'none']]);
});

test('keys are compared as Map keys', async () => {
  const clock = new VirtualClock();
  const gate = new Gate<unknown, unknown>();
  const same = {};
  const batcher = new Batcher(gate.handler, { clock, dedupeBy: (item) => item });
  for (const item of [NaN, NaN, 0, -0, '0', same, same, {}]) void batcher.submit(item);
  await clock.advance(0);
  expect(gate.batches).toEqual([[NaN, 0, '0', same, {}]]);
});

test('with isolate, a faulty shared item fails for all its callers and for no others', async () => {
  const clock = new VirtualClock();
  const seen: string[][] = [];
  const batcher = new Batcher(
    (items: string[]) => {
      seen.push(items);
      if (items.includes('poison')) throw new Error('found poison');
      return square(items);
    },
    { clock, isolate: true, dedupeBy: (item) => item },
  );
  const items = ['a', 'poison', 'b', 'poison', 'a'];
  const outcomes = items.map((item) => outcomeOf(batcher.submit(item)));
  await clock.advance(0);
  expect(seen[0]).toEqual(['a', 'poison', 'b']);
  expect(outcomes.map(({ value, code }) => value ?? code)).toEqual([
    'a²',
    'HANDLER_FAILED',
    'b²',
    'HANDLER_FAILED',
    'a²',
  ]);
  expectRest(batcher);
});

test('a request with duplicates computes each distinct item once and returns results in order', async () => {
  const { clock, gate, batcher } = sharing({ maxBatchSize: 2 });
  const outcome = outcomeOf(batcher.submitMany(['a', 'b', 'a', 'c', 'b']));
  await clock.advance(0);
  gate.call(0).answer(square(gate.call(0).items));
  await clock.advance(0);
  gate.call(1).answer(square(gate.call(1).items));
  await clock.advance(0);
  expect(gate.batches).toEqual([['a', 'b'], ['c']]);
  expect(outcome.value).toEqual(['a²', 'b²', 'a²', 'c²', 'b²']);
  expectRest(batcher);
});

// Root cause: the request cancels its other items when the first caller of a shared item gets the error, while the
// batch is still settling the others, which must not be settled again.
test('a request whose duplicates fail together is settled once, and the statistics add up', async () => {
  const { clock, gate, batcher } = sharing();
  const outcome = outcomeOf(batcher.submitMany(['a', 'a', 'a']));
  await clock.advance(0);
  gate.call(0).answer([new Error('bad a')]);
  await clock.advance(0);
  expect(outcome).toMatchObject({ state: 'rejected', settled: 1 });
  expectRest(batcher);
});

test('a caller whose callback cancels another caller of its item: both are settled once', async () => {
  const { clock, gate, batcher } = sharing();
  const second = new RecordingSink<string>();
  const first = new RecordingSink<string>(() => ticket.cancel());
  batcher.enqueue('a', first);
  const ticket = batcher.enqueue('a', second);
  await clock.advance(0);
  gate.call(0).answer(['a²']);
  await clock.advance(0);
  expect([first.settled, second.settled]).toEqual([1, 1]);
  expectRest(batcher);
});

// Root cause: a dispatch that frees places in a full queue may end the computation that the new item would join.
test('a new item is not lost when the computation it would join ends during its submit', async () => {
  const clock = new VirtualClock();
  const batcher = new Batcher(square, { clock, maxBatchSize: 2, maxQueueSize: 2, dedupeBy: (item) => item });
  const outcomes = ['a', 'b', 'a'].map((item) => outcomeOf(batcher.submit(item)));
  await clock.advance(0);
  expect(outcomes.map(({ value }) => value)).toEqual(['a²', 'b²', 'a²']);
  expectRest(batcher);
});

test('an item that joins a running computation takes no place in the queue', async () => {
  const { clock, gate, batcher } = sharing({ maxQueueSize: 1 });
  void batcher.submit('a');
  await clock.advance(0);
  void batcher.submit('b');
  const joining = outcomeOf(batcher.submit('a'));
  gate.call(0).answer(['a²']);
  await clock.advance(0);
  expect(joining.value).toBe('a²');
});

test('under random operations, each caller of a shared item is settled once, with the result of its item', async () => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('submit' as const),
      item: fc.constantFrom('a', 'b', 'c'),
      timeoutMs: fc.constantFrom(undefined, 5, 30),
    }),
    fc.record({ kind: fc.constant('cancel' as const), which: fc.nat() }),
    fc.record({ kind: fc.constant('advance' as const), ms: fc.nat(20) }),
    fc.record({ kind: fc.constantFrom('answer' as const, 'fail' as const), which: fc.nat() }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.boolean(), async (script, windowed) => {
      const { clock, gate, batcher } = sharing({
        concurrency: 3,
        maxBatchSize: 2,
        ...(windowed ? { policy: window({ maxWaitMs: 10 }) } : {}),
      });
      const callers: { item: string; sink: RecordingSink<string>; ticket: { cancel(): void } }[] = [];
      const ended = new Set<number>();
      const end = async (which: number, kind: 'answer' | 'fail') => {
        const open = [...gate.calls.keys()].filter((index) => !ended.has(index));
        const index = open[which % (open.length || 1)];
        if (index === undefined) return;
        ended.add(index);
        const call = gate.call(index);
        if (kind === 'answer') call.answer(square(call.items));
        else call.fail(new Error('failed'));
        await clock.settle();
      };
      for (const action of script) {
        if (action.kind === 'submit') {
          const { item, timeoutMs } = action;
          const sink = new RecordingSink<string>();
          callers.push({ item, sink, ticket: batcher.enqueue(item, sink, { timeoutMs }) });
        } else if (action.kind === 'cancel') callers[action.which % (callers.length || 1)]?.ticket.cancel();
        else if (action.kind === 'advance') await clock.advance(action.ms);
        else await end(action.which, action.kind);
        expectBooksToBalance(batcher);
      }
      const closed = batcher.close();
      await clock.advance(100);
      while (ended.size < gate.calls.length) await end(0, 'answer');
      await closed;
      for (const { item, sink } of callers) {
        expect(sink.settled).toBe(1);
        if (sink.fate === 'ok') expect(sink.results).toEqual([`${item}²`]);
      }
      expectRest(batcher);
    }),
    { numRuns: 300 },
  );
});

// Root cause: the entry of a cancelled first caller kept its ended batch when the item went back to the queue, so that callers who
// joined later were counted as running in that batch.
test('a returned item whose first caller has cancelled is queued for the callers that join it', async () => {
  const a = new GatedBackend('a');
  const policy = { name: 'first only', decide: () => (a.batches.length === 0 ? dispatchAll : forever) };
  const { clock, batcher } = placed([a], { dedupeBy: (item) => item, policy });
  const controller = new AbortController();
  const outcomes = [
    outcomeOf(batcher.submit(1, { signal: controller.signal })),
    outcomeOf(batcher.submit(1)),
  ];
  await clock.settle();
  controller.abort();
  await clock.settle();
  a.fail(notStarted('a'));
  await clock.settle();
  outcomes.push(outcomeOf(batcher.submit(1)));
  expect(batcher.stats()).toMatchObject({ queued: 2, running: 0 });
  const closed = outcomeOf(batcher.close());
  await clock.settle();
  a.answer();
  await clock.settle();
  expect(outcomes.map(({ code, value }) => code ?? value)).toEqual(['CANCELLED', 1, 1]);
  expect(closed.state).toBe('resolved');
  expectRest(batcher);
});

// Root cause: callers are settled one by one, and the batch that was abandoned by the first had no handler call any more.
test.each(['destroys the batcher', 'removes the backend'])(
  'callers that share an item are all settled when one of them %s',
  async (action) => {
    const backend = new GatedBackend('a');
    const { clock, batcher } = placed([backend], { dedupeBy: (item) => item });
    const stop = () => (action === 'removes the backend' ? batcher.backends.remove('a') : batcher.destroy());
    const sinks = [new RecordingSink<number>(stop), new RecordingSink<number>(), new RecordingSink<number>()];
    for (const sink of sinks) batcher.enqueue(1, sink);
    await clock.settle();
    backend.answer();
    await clock.settle();
    expect(sinks.map(({ results }) => results)).toEqual([[1], [1], [1]]);
    expectBooksToBalance(batcher);
  },
);
