import { Batcher, type BatcherOptions, type BatchwiseError, type Handler, VirtualClock } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { expectRest } from './support/books.js';
import { Gate } from './support/gate.js';
import { type Outcome, outcomeOf } from './support/outcome.js';
import { RecordingSink } from './support/recording-sink.js';
import { Scenario } from './support/scenario.js';
import { script, setup } from './support/script.js';

type AnyHandler = Handler<number, unknown>;

/** Three callers in one batch of a given handler. */
async function threeCallers(handler: unknown, options: BatcherOptions<number> = {}) {
  const clock = new VirtualClock();
  const batcher = new Batcher(handler as AnyHandler, { clock, ...options });
  const outcomes = [1, 2, 3].map((item) => outcomeOf(batcher.submit(item)));
  await clock.advance(0);
  return { clock, batcher, outcomes };
}

function expectAll(outcomes: readonly Outcome<unknown>[], code: string): void {
  expect(outcomes.map((outcome) => outcome.code)).toEqual(outcomes.map(() => code));
  expect(outcomes.map(({ settled }) => settled)).toEqual(outcomes.map(() => 1));
}

describe('a handler that throws', () => {
  const thrown = new Error('out of memory');
  const handlers: [string, unknown, unknown][] = [
    ['at once', () => raise(thrown), thrown],
    ['later', async () => raise(thrown), thrown],
    ['a string', () => raise('no'), 'no'],
    ['a symbol', async () => raise(Symbol.iterator), Symbol.iterator],
    ['undefined', async () => raise(undefined), undefined],
    ['null', () => raise(null), null],
  ];
  test.each(handlers)('%s fails its callers with HANDLER_FAILED and the cause', async (_, handler, cause) => {
    const { batcher, outcomes } = await threeCallers(handler);
    expectAll(outcomes, 'HANDLER_FAILED');
    for (const { error } of outcomes) expect((error as BatchwiseError).cause).toBe(cause);
    expect(batcher.stats()).toMatchObject({ submitted: 3, failed: 3 });
    expectRest(batcher);
  });
});

describe('a handler that returns', () => {
  const returned: [string, unknown][] = [
    ['too few results', [1, 2]],
    ['too many results', [1, 2, 3, 4]],
    ['nothing', undefined],
    ['null', null],
    ['a string of the right length', 'abc'],
    ['a set of the right size', new Set([1, 2, 3])],
    ['an object with a length', { 0: 1, 1: 2, 2: 3, length: 3 }],
    ['a typed array of another length', new Float32Array(2)],
    ['a function', () => [1, 2, 3]],
    ['its results in one array too many', [[1, 2, 3]]],
  ];
  test.each(returned)('%s fails its callers with BAD_RESULT', async (_, results) => {
    for (const handler of [() => results, async () => results]) {
      const { batcher, outcomes } = await threeCallers(handler);
      expectAll(outcomes, 'BAD_RESULT');
      expectRest(batcher);
    }
  });

  test('promises instead of results fails their callers, and their rejections are handled', async () => {
    const { batcher, outcomes } = await threeCallers(() => [
      Promise.resolve(1),
      Promise.reject(new Error('later')),
      'three',
    ]);
    expect(outcomes.map(({ code, value }) => code ?? value)).toEqual(['BAD_RESULT', 'BAD_RESULT', 'three']);
    expectRest(batcher);
  });

  test('a thenable as a result settles its caller', async () => {
    // biome-ignore lint/suspicious/noThenProperty: the test needs a thenable
    const never = { then: () => {} };
    const { outcomes } = await threeCallers(() => [1, never, 3]);
    expect(outcomes.map(({ settled }) => settled)).toEqual([1, 1, 1]);
  });

  test('an error as a result fails only its item, with that error object', async () => {
    const own = new RangeError('two is too much');
    const { batcher, outcomes } = await threeCallers(() => ['one', own, 'three']);
    expect(outcomes.map(({ value }) => value)).toEqual(['one', undefined, 'three']);
    expect(outcomes[1]?.error).toBe(own);
    expect(batcher.stats()).toMatchObject({ succeeded: 2, failed: 1 });
  });

  test.each([null, undefined, 0, false, '', Number.NaN])(
    '%o as a result resolves its caller to it',
    async (result) => {
      const { outcomes } = await threeCallers(async () => [result, result, result]);
      for (const outcome of outcomes)
        expect(outcome).toEqual({ state: 'resolved', value: result, settled: 1 });
    },
  );

  test('its results synchronously answers its callers', async () => {
    const { batcher, outcomes } = await threeCallers((items: number[]) => items.map((item) => item * 10));
    expect(outcomes.map(({ value }) => value)).toEqual([10, 20, 30]);
    expectRest(batcher);
  });

  test('its emptied array of items gets BAD_RESULT', async () => {
    const { outcomes } = await threeCallers((items: number[]) => {
      items.length = 0;
      return items;
    });
    expectAll(outcomes, 'BAD_RESULT');
  });
});

describe('a thenable that is not a native promise', () => {
  type Callback = (value: unknown) => void;
  const results = ['one', 'two', 'three'];
  const late = new Error('too late to count');
  const broken = new Error('this thenable is broken');
  const thenables: [string, (resolve: Callback, reject: Callback) => void, unknown[]][] = [
    ['answers twice', (resolve) => [resolve(results), resolve(['x', 'y', 'z'])], results],
    ['answers and fails', (resolve, reject) => [resolve(results), reject(late)], results],
    ['answers and throws', (resolve) => raise(late, resolve(results)), results],
    ['fails and answers', (resolve, reject) => [reject(broken), resolve(results)], [broken, broken, broken]],
    ['throws', () => raise(broken), [broken, broken, broken]],
    // biome-ignore lint/suspicious/noThenProperty: the test needs a thenable
    ['answers with another', (resolve) => resolve({ then: (next: Callback) => next(results) }), results],
  ];
  const seen = ({ value, error }: Outcome<unknown>) => value ?? (error as BatchwiseError).cause;

  test.each(thenables)('that %s counts once', async (_, then, expected) => {
    const { batcher, outcomes } = await threeCallers(() => ({ then }));
    expect(outcomes.map(seen)).toEqual(expected);
    expect(outcomes.map(({ settled }) => settled)).toEqual([1, 1, 1]);
    expectRest(batcher);
  });

  test.each(thenables.slice(0, 5))(
    'that %s counts once when it is a subclass of Promise',
    async (_, then, expected) => {
      class Eager extends Promise<unknown> {
        // biome-ignore lint/suspicious/noThenProperty: the test needs a thenable
        override then(resolve?: unknown, reject?: unknown): never {
          return then(resolve as Callback, reject as Callback) as never;
        }
      }
      const { batcher, outcomes } = await threeCallers(() => new Eager(() => {}));
      expect(outcomes.map(seen)).toEqual(expected);
      expect(outcomes.map(({ settled }) => settled)).toEqual([1, 1, 1]);
      expectRest(batcher);
      expect(batcher.stats()).toMatchObject({ batches: 1, batchesRunning: 0 });
    },
  );

  test('whose `then` cannot be read fails the batch', async () => {
    const { batcher, outcomes } = await threeCallers(() => ({
      // biome-ignore lint/suspicious/noThenProperty: the test needs a thenable
      get then() {
        return raise(broken);
      },
    }));
    expectAll(outcomes, 'HANDLER_FAILED');
    expectRest(batcher);
  });
});

describe('a handler that hangs', () => {
  test('gets HANDLER_TIMEOUT after handlerTimeoutMs: its signal fires, and its slot is free', async () => {
    const gate = new Gate<number, string>();
    const { clock, batcher, outcomes } = await threeCallers(gate.handler, { handlerTimeoutMs: 100 });
    const next = outcomeOf(batcher.submit(4));
    await clock.advance(99);
    expect(outcomes.every(({ state }) => state === 'pending')).toBe(true);
    expect(gate.call(0).context.signal.aborted).toBe(false);
    await clock.advance(1);
    expectAll(outcomes, 'HANDLER_TIMEOUT');
    expect(gate.call(0).context.signal.aborted).toBe(true);
    expect(gate.batches).toEqual([[1, 2, 3], [4]]);
    gate.call(1).answer(['four']);
    await clock.advance(0);
    expect(next.value).toBe('four');
    expectRest(batcher);
  });

  test.each(['answer', 'fail'] as const)('is ignored if it does %s later', async (belated) => {
    const gate = new Gate<number, string>();
    const { clock, batcher, outcomes } = await threeCallers(gate.handler, { handlerTimeoutMs: 100 });
    await clock.advance(100);
    const stats = batcher.stats();
    gate.call(0)[belated](['one', 'two', 'three']);
    await clock.advance(0);
    expectAll(outcomes, 'HANDLER_TIMEOUT');
    expect(batcher.stats()).toEqual(stats);
  });
});

describe('the end of a batcher', () => {
  test('close() waits for a running handler, and its callers get their results', async () => {
    const gate = new Gate<number, string>();
    const { clock, batcher, outcomes } = await threeCallers(gate.handler);
    const queued = outcomeOf(batcher.submit(4));
    const closed = outcomeOf(batcher.close());
    const rejected = [outcomeOf(batcher.submit(5)), outcomeOf(batcher.submit(6, { priority: 1 }))];
    await clock.advance(1000);
    expectAll(rejected, 'CLOSED');
    expect(closed.state).toBe('pending');
    gate.call(0).answer(['one', 'two', 'three']);
    await clock.advance(0);
    expect(outcomes.map(({ value }) => value)).toEqual(['one', 'two', 'three']);
    expect([queued.state, closed.state]).toEqual(['pending', 'pending']);
    gate.call(1).answer(['four']);
    await clock.advance(0);
    expect([queued.value, closed.state]).toEqual(['four', 'resolved']);
    expectRest(batcher);
  });

  test('close({ timeoutMs }) settles the remaining items with CLOSED after that time', async () => {
    const gate = new Gate<number, string>();
    const { clock, batcher, outcomes } = await threeCallers(gate.handler);
    outcomes.push(outcomeOf(batcher.submit(4)));
    const closed = outcomeOf(batcher.close({ timeoutMs: 50 }));
    await clock.advance(49);
    expect(closed.state).toBe('pending');
    await clock.advance(1);
    expect(closed.state).toBe('resolved');
    expectAll(outcomes, 'CLOSED');
    expect(gate.batches).toEqual([[1, 2, 3]]);
    expect(clock.pendingTimers).toBe(0);
  });

  test.each(['answer', 'fail'] as const)(
    'destroy() settles all items; a handler that does %s later is ignored',
    async (belated) => {
      const gate = new Gate<number, string>();
      const { clock, batcher, outcomes } = await threeCallers(gate.handler, { handlerTimeoutMs: 100 });
      outcomes.push(outcomeOf(batcher.submit(4)));
      batcher.destroy();
      await clock.advance(0);
      expectAll(outcomes, 'CLOSED');
      expect(gate.call(0).context.signal.aborted).toBe(true);
      expect(clock.pendingTimers).toBe(0);
      gate.call(0)[belated](['one', 'two', 'three']);
      await clock.advance(1000);
      expectAll(outcomes, 'CLOSED');
      expect(batcher.stats()).toMatchObject({ submitted: 4, failed: 4, batches: 1 });
      expectRest(batcher);
    },
  );

  test('a rejected item is reported to its sink before enqueue() returns', () => {
    const batcher = new Batcher<number, number>((items) => items, { clock: new VirtualClock() });
    batcher.destroy();
    const sink = new RecordingSink<number>();
    const ticket = batcher.enqueue(1, sink);
    expect([ticket.settled, sink.fate, sink.settled]).toEqual([true, 'CLOSED', 1]);
  });
});

test('under random operations, every item is settled once and all limits hold', async () => {
  await fc.assert(
    fc.asyncProperty(setup, script, async (given, steps) => {
      const scenario = new Scenario(given);
      for (const step of steps) await scenario.run(step);
      await scenario.end();
    }),
    { numRuns: 400 },
  );
});

function raise(error: unknown, ..._before: unknown[]): never {
  throw error;
}
