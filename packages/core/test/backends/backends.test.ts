/** Batches on several backends: choice, failures and retries. */
import { Batcher, type BatcherOptions, BatchwiseError, greedy, type Policy, VirtualClock } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { expectBooksToBalance, expectRest } from '../support/books.js';
import { forever } from '../support/deciding.js';
import { GatedBackend, lost, notStarted, placed } from '../support/gated-backend.js';
import { outcomeOf } from '../support/outcome.js';
import { seeded } from '../support/random.js';
import { RecordingSink } from '../support/recording-sink.js';

const { POSITIVE_INFINITY } = Number;
const one = { maxBatchSize: 1, policy: greedy() };

/** A backend on virtual time with this duration for each batch. */
function timed(id: string, clock: VirtualClock, durationMs: number, slots = 1) {
  const sizes: number[] = [];
  const run = (items: number[]): Promise<number[]> => {
    sizes.push(items.length);
    return new Promise((resolve) => clock.setTimer(() => resolve(items), durationMs));
  };
  return { id, slots, run, sizes };
}

describe('a batch', () => {
  test('runs on a backend with a free slot, and its context has the backend', async () => {
    const [a, b] = [new GatedBackend('a'), new GatedBackend('b', 2)];
    const { batcher, clock } = placed([a, b], one);
    const outcomes = [1, 2, 3, 4].map((item) => outcomeOf(batcher.submit(item)));
    await clock.advance(0);
    expect([a.batches.length, b.batches.length]).toEqual([1, 2]);
    expect(b.gate.call(0).context.backend).toBe('b');
    expect(batcher.freeSlots).toBe(0);
    a.answer();
    await clock.advance(0);
    expect(a.batches).toHaveLength(2);
    for (const { answer, items } of [...a.gate.calls, ...b.gate.calls]) answer(items);
    await clock.advance(0);
    expect(outcomes.map(({ value }) => value)).toEqual([1, 2, 3, 4]);
    expectRest(batcher);
  });

  test('goes to the faster of two backends while that has a free slot', async () => {
    const clock = new VirtualClock();
    const [slow, fast] = [timed('slow', clock, 30), timed('fast', clock, 10)];
    const batcher = new Batcher<number, number>({ backends: [slow, fast], clock, ...one });
    for (let i = 0; i < 12; i++) {
      batcher.submit(i);
      await clock.advance(100);
    }
    expect(slow.sizes.length).toBeLessThanOrEqual(5); // both are measured first
    const before = slow.sizes.length;
    for (let i = 0; i < 10; i++) {
      batcher.submit(i);
      await clock.advance(100);
    }
    expect(slow.sizes.length).toBe(before);
  });

  test('waits for a faster backend that is nearly done', async () => {
    const clock = new VirtualClock();
    const [slow, fast] = [timed('slow', clock, 100), timed('fast', clock, 10)];
    const batcher = new Batcher<number, number>({ backends: [slow, fast], clock, ...one });
    for (let i = 0; i < 12; i++) {
      batcher.submit(i);
      await clock.advance(200);
    }
    const before = slow.sizes.length;
    const outcomes = [1, 2].map((item) => outcomeOf(batcher.submit(item)));
    await clock.advance(20);
    expect(outcomes.map(({ state }) => state)).toEqual(['resolved', 'resolved']);
    expect(slow.sizes.length).toBe(before);
  });

  test('waits for a faster backend no longer than maxWaitMs', async () => {
    const clock = new VirtualClock();
    const [slow, fast] = [timed('slow', clock, 200), timed('fast', clock, 40)];
    const batcher = new Batcher<number, number>({ backends: [slow, fast], clock, ...one, maxWaitMs: 3 });
    for (let i = 0; i < 12; i++) {
      batcher.submit(i);
      await clock.advance(200);
    }
    const before = slow.sizes.length;
    for (const item of [1, 2]) batcher.submit(item);
    await clock.advance(2);
    expect(slow.sizes.length).toBe(before);
    await clock.advance(1);
    expect(slow.sizes.length).toBe(before + 1);
  });

  test('goes to the backend that the policy names', async () => {
    const [a, b] = [new GatedBackend('a', 4), new GatedBackend('b', 4)];
    const seen: string[][] = [];
    const { batcher, clock } = placed([a, b], {
      policy: {
        name: 'b only',
        decide: (view) => {
          seen.push(view.backends.map(({ id, slots, freeSlots }) => `${id} ${freeSlots}/${slots}`));
          return { action: 'dispatch', count: 1, reason: 'idle', backend: 'b' };
        },
      },
    });
    for (const item of [1, 2]) batcher.submit(item).catch(() => {});
    await clock.advance(0);
    expect([a.batches.length, b.batches.length]).toEqual([0, 2]);
    expect(seen).toEqual([
      ['a 4/4', 'b 4/4'],
      ['a 4/4', 'b 3/4'],
    ]);
    batcher.destroy();
  });

  test('goes to another backend if the policy names one without a free slot, which is an error of the policy', async () => {
    const [a, b] = [new GatedBackend('a'), new GatedBackend('b')];
    const policy = {
      name: 'a only',
      decide: () => ({ action: 'dispatch', count: 1, reason: 'idle', backend: 'a' }) as const,
    };
    const { batcher, clock } = placed([a, b], { policy });
    for (const item of [1, 2]) batcher.submit(item).catch(() => {});
    await clock.advance(0);
    expect([a.batches.length, b.batches.length]).toEqual([1, 1]);
    expect(batcher.stats().policyErrors).toBe(1);
    batcher.destroy();
  });

  test('counts towards `concurrency`, which limits all backends together', async () => {
    const [a, b] = [new GatedBackend('a', 4), new GatedBackend('b', 4)];
    const { batcher, clock } = placed([a, b], { ...one, concurrency: 3 });
    for (let i = 0; i < 8; i++) batcher.submit(i).catch(() => {});
    await clock.advance(0);
    expect(a.batches.length + b.batches.length).toBe(3);
    batcher.configure({ concurrency: 5 });
    expect(a.batches.length + b.batches.length).toBe(5);
    batcher.destroy();
  });
});

// Root cause: the backend was chosen again when the batch started, for another cost than the policy had decided about.
test('a batch runs on the backend whose slots and curve the policy has seen', async () => {
  const clock = new VirtualClock();
  const random = seeded(1);
  const decided: number[] = [];
  const started: number[] = [];
  const backends = [2, 1].map((slots) => {
    const run = (items: number[]) => {
      started.push(slots);
      const durationMs = slots === 1 ? 5 + items.length : 30 + 2 * items.length;
      return new Promise<number[]>((resolve) => clock.setTimer(() => resolve(items), durationMs));
    };
    return { id: `${slots}`, slots, run };
  });
  const decide: Policy['decide'] = (view) => {
    decided.push(view.slots);
    return { action: 'dispatch', count: 1 + Math.floor(view.length / 2), reason: 'idle' };
  };
  const batcher = new Batcher<number, number>({ backends, clock, policy: { name: 'records', decide } });
  for (let i = 0; i < 500; i++) {
    for (let items = 20 * random(); items > 0; items--) void batcher.submit(i);
    await clock.advance(20 * random());
  }
  await clock.advance(10_000);
  const learned = decided.lastIndexOf(3) + 1;
  expect(learned).toBeLessThan(50);
  expect(started.slice(learned)).toEqual(decided.slice(learned));
  expect(new Set(started.slice(learned)).size).toBe(2);
});

// Root cause: the curve of the chosen backend took the place of that of the group, even while all backends were alike.
test('the policy sees the curve of the group', async () => {
  const clock = new VirtualClock();
  const run = (items: number[]) =>
    new Promise<number[]>((resolve) => clock.setTimer(() => resolve(items), 10 * (items[0] as number)));
  const seen = new Map<number, number | undefined>();
  const decide: Policy['decide'] = (view, now) => {
    seen.set(now % 2, view.curve.mean(1));
    return { action: 'dispatch', count: 1, reason: 'idle' };
  };
  const batcher = new Batcher<number, number>({
    ...{ backends: [{ id: 'a', slots: 1, run }], clock, groupOf: (item: number) => item },
    policy: { name: 'records', decide },
  });
  for (let i = 0; i < 40; i++) {
    void batcher.submit(i % 4 === 0 ? 4 : 1);
    await clock.advance(i % 4 === 0 || i % 4 === 3 ? 101 : 100);
  }
  expect([seen.get(0), seen.get(1)]).toEqual([expect.closeTo(40), expect.closeTo(10)]);
});

test('the context has the expected duration of a batch once it is known', async () => {
  const a = new GatedBackend('a');
  const { batcher, clock } = placed([a], one);
  for (const item of [1, 2]) {
    batcher.submit(item);
    await clock.advance(20);
    a.answer();
    await clock.advance(0);
  }
  expect(a.gate.calls.map(({ context }) => context.expectedMs)).toEqual([undefined, 20]);
});

describe('a batch that was not started', () => {
  test('is retried on another backend without an effect on its callers', async () => {
    const [a, b] = [new GatedBackend('a'), new GatedBackend('b')];
    const { batcher, clock } = placed([a, b]);
    a.isUnavailable = true;
    const outcomes = [1, 2, 3].map((item) => outcomeOf(batcher.submit(item)));
    await clock.advance(0);
    expect([a.batches, b.batches]).toEqual([[[1, 2, 3]], [[1, 2, 3]]]);
    b.answer();
    await clock.advance(0);
    expect(outcomes.map(({ value }) => value)).toEqual([1, 2, 3]);
    expect(batcher.stats().backends).toMatchObject([{ id: 'a', returned: 1 }, { id: 'b' }]);
    expectRest(batcher);
  });

  test('returns to the head of the queue, in its order', async () => {
    const a = new GatedBackend('a');
    const { batcher, clock } = placed([a], { maxBatchSize: 3, policy: greedy() });
    for (const item of [1, 2, 3]) batcher.submit(item).catch(() => {});
    await clock.advance(0);
    for (const item of [4, 5]) batcher.submit(item, { priority: 0 }).catch(() => {});
    await clock.advance(0);
    a.fail(notStarted('a'));
    await clock.advance(0);
    expect(a.batches).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ]);
    expectBooksToBalance(batcher);
    a.answer();
    await clock.advance(0);
    expect(a.batches.at(-1)).toEqual([4, 5]);
    batcher.destroy();
  });

  test('keeps priorities, tenants, groups and shared items', async () => {
    const a = new GatedBackend('a');
    const { batcher, clock } = placed([a], {
      policy: greedy(),
      maxBatchSize: 8,
      groupOf: (item) => item % 2,
      dedupeBy: (item) => item,
    });
    const outcomes = [2, 2, 4].map((item, i) =>
      outcomeOf(batcher.submit(item, { priority: i === 2 ? 1 : 0, tenant: 'acme' })),
    );
    await clock.advance(0);
    outcomes.push(outcomeOf(batcher.submit(3)), outcomeOf(batcher.submit(2)));
    a.fail(notStarted('a'));
    await clock.advance(0);
    expectBooksToBalance(batcher);
    expect(batcher.stats()).toMatchObject({ queued: 1, running: 4 });
    expect(a.batches).toEqual([
      [4, 2],
      [4, 2],
    ]);
    a.answer();
    await clock.advance(0);
    a.answer();
    await clock.advance(0);
    expect(outcomes.map(({ value }) => value)).toEqual([2, 2, 4, 3, 2]);
    expectRest(batcher);
  });

  test('keeps its deadlines', async () => {
    const a = new GatedBackend('a');
    const { batcher, clock } = placed([a]);
    const outcome = outcomeOf(batcher.submit(1, { timeoutMs: 50 }));
    await clock.advance(20);
    batcher.backends.setHealth('a', false);
    a.fail(notStarted('a'));
    await clock.advance(29);
    expect(outcome.state).toBe('pending');
    await clock.advance(1);
    expect(outcome.code).toBe('DEADLINE_EXCEEDED');
    expectRest(batcher);
  });

  test('can be cancelled after its return to the queue', async () => {
    const a = new GatedBackend('a');
    const { batcher, clock } = placed([a]);
    const controller = new AbortController();
    const outcomes = [
      outcomeOf(batcher.submit(1, { signal: controller.signal })),
      outcomeOf(batcher.submit(2)),
    ];
    await clock.advance(0);
    batcher.backends.setHealth('a', false);
    a.fail(notStarted('a'));
    await clock.advance(0);
    controller.abort();
    await clock.advance(0);
    expect(outcomes.map(({ code, state }) => code ?? state)).toEqual(['CANCELLED', 'pending']);
    batcher.backends.setHealth('a', true);
    await clock.advance(0);
    a.answer();
    await clock.advance(0);
    expect(outcomes[1]?.value).toBe(2);
    expectRest(batcher);
  });

  test('is retried `retries` times, then its callers get the error of the backend', async () => {
    const [a, b] = [new GatedBackend('a'), new GatedBackend('b')];
    a.isUnavailable = true;
    b.isUnavailable = true;
    const { batcher, clock } = placed([a, b], { set: { retries: 1 } });
    const outcome = outcomeOf(batcher.submit(1));
    await clock.advance(0);
    expect([a.batches.length, b.batches.length]).toEqual([1, 1]);
    expect(outcome.code).toBe('UNAVAILABLE');
    expect((outcome.error as Error).message).toMatch(/is unavailable/);
    expectRest(batcher);
  });

  test('is retried only within the retry budget', async () => {
    const a = new GatedBackend('a');
    a.isUnavailable = true;
    const { batcher, clock } = placed([a], { ...one, set: { maxFailures: POSITIVE_INFINITY } });
    for (let i = 0; i < 100; i++) {
      batcher.submit(i).catch(() => {});
      await clock.advance(0);
    }
    expect(a.batches.length).toBeGreaterThan(100);
    expect(a.batches.length).toBeLessThan(125);
    expectRest(batcher);
  });
});

describe('a failure of a backend', () => {
  test('fails the callers of its batch only, with its own error', async () => {
    const [a, b] = [new GatedBackend('a'), new GatedBackend('b')];
    const { batcher, clock } = placed([a, b], { ...one, isolate: true });
    const outcomes = [1, 2].map((item) => outcomeOf(batcher.submit(item)));
    await clock.advance(0);
    a.fail(lost('a'));
    b.answer();
    await clock.advance(0);
    expect(outcomes.map(({ code, value }) => code ?? value)).toEqual(['UNAVAILABLE', 2]);
    expectRest(batcher);
  });

  test('that an item may have caused is bisected, as with a handler', async () => {
    const a: GatedBackend = new GatedBackend('a');
    const { batcher, clock } = placed([a], { isolate: true });
    const outcomes = [1, 2].map((item) => outcomeOf(batcher.submit(item)));
    await clock.advance(0);
    a.fail(new Error('bad item'));
    await clock.advance(0);
    a.fail(new Error('bad item'));
    await clock.advance(0);
    a.answer();
    await clock.advance(0);
    expect(outcomes.map(({ code, value }) => code ?? value)).toEqual(['HANDLER_FAILED', 2]);
    expect(batcher.stats().backends).toMatchObject([{ failures: 0 }]);
  });

  test('ejects it after maxFailures in a row, and other backends get its batches', async () => {
    const [a, b] = [new GatedBackend('a'), new GatedBackend('b', 100)];
    const { batcher, clock } = placed([a, b], { ...one, set: { maxFailures: 2 } });
    for (let i = 0; a.batches.length < 2; i++) {
      batcher.submit(i).catch(() => {});
      await clock.advance(600);
      if (a.batches.length > 0) a.fail(lost('a'));
      await clock.advance(0);
    }
    expect(batcher.stats().backends[0]).toMatchObject({ state: 'ejected', ejections: 1 });
    for (let i = 0; i < 3; i++) batcher.submit(i).catch(() => {});
    await clock.advance(0);
    expect(a.batches).toHaveLength(2);
    batcher.destroy();
  });

  test('includes a batch that exceeds handlerTimeoutMs', async () => {
    const a = new GatedBackend('a');
    const { batcher, clock } = placed([a], { handlerTimeoutMs: 10, set: { maxFailures: 1 } });
    const outcome = outcomeOf(batcher.submit(1));
    await clock.advance(10);
    expect(outcome.code).toBe('HANDLER_TIMEOUT');
    expect(batcher.stats().backends).toMatchObject([{ state: 'ejected', running: 0 }]);
    batcher.destroy();
  });

  test('includes the cancellation of an overdue batch, but not of an earlier one', async () => {
    const clock = new VirtualClock();
    let durationMs = 20;
    const run = (items: number[]) =>
      new Promise<number[]>((resolve) => clock.setTimer(() => resolve(items), durationMs));
    const hanging = (items: number[], { signal }: { readonly signal: AbortSignal }) =>
      durationMs < 1000
        ? run(items)
        : new Promise<number[]>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const batcher = new Batcher<number, number>({ backends: [{ id: 'a', slots: 1, run: hanging }], clock });
    const submit = async (ms: number): Promise<void> => {
      batcher.submit(1, { timeoutMs: ms }).catch(() => {});
      await clock.advance(ms);
    };
    for (let i = 0; i < 10; i++) await submit(20.5);
    durationMs = 1e6;
    for (let i = 0; i < 20; i++) await submit(20.2);
    expect(batcher.stats().backends).toMatchObject([{ state: 'ready', failures: 0 }]);
    for (let i = 0; i < 5; i++) await submit(500);
    expect(batcher.stats().backends).toMatchObject([{ state: 'ejected' }]);
    batcher.destroy();
  });

  test('includes batches that a backend never answers, once their callers have waited for a second in total', async () => {
    const clock = new VirtualClock();
    const silent = (_: number[], { signal }: { readonly signal: AbortSignal }) =>
      new Promise<number[]>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    const batcher = new Batcher<number, number>({ backends: [{ id: 'a', slots: 1, run: silent }], clock });
    for (const failures of [0, 0, 1]) {
      const outcome = outcomeOf(batcher.submit(1, { timeoutMs: 400 }));
      await clock.advance(400);
      expect(outcome.error).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
      expect(batcher.stats().backends[0]?.failures).toBe(failures);
    }
  });
});

describe('while no backend is ready', () => {
  test('items wait until one is', async () => {
    const a = new GatedBackend('a');
    const { batcher, clock } = placed([a]);
    batcher.backends.setHealth('a', false, new Error('warming up'));
    const outcome = outcomeOf(batcher.submit(1));
    await clock.advance(10_000);
    expect([outcome.state, a.batches.length]).toEqual(['pending', 0]);
    expect(batcher.backends.outage?.message).toBe('No backend is ready. Last error: warming up');
    batcher.backends.setHealth('a', true);
    expect(a.batches).toHaveLength(1);
    a.answer();
    await clock.advance(0);
    expect(outcome.value).toBe(1);
    expectRest(batcher);
  });

  test('items wait until their deadline', async () => {
    const a = new GatedBackend('a');
    const { batcher, clock } = placed([a]);
    batcher.backends.setHealth('a', false);
    const outcome = outcomeOf(batcher.submit(1, { timeoutMs: 30 }));
    await clock.advance(30);
    expect(outcome.code).toBe('DEADLINE_EXCEEDED');
    expectRest(batcher);
  });

  test('one batch tries an ejected backend after the back-off, and its items return to the queue if it is not started', async () => {
    const a = new GatedBackend('a');
    a.isUnavailable = true;
    const { batcher, clock } = placed([a], { ...one, set: { maxFailures: 1 } });
    const outcomes = [1, 2].map((item) => outcomeOf(batcher.submit(item)));
    await clock.advance(0);
    expect(a.batches).toEqual([[1]]);
    await clock.advance(1000);
    expect(a.batches).toEqual([[1], [1]]);
    await clock.advance(1999);
    a.isUnavailable = false;
    expect(outcomes.map(({ state }) => state)).toEqual(['pending', 'pending']);
    await clock.advance(1);
    expect(a.batches).toEqual([[1], [1], [1]]);
    a.answer();
    await clock.advance(0);
    a.answer();
    await clock.advance(0);
    expect(outcomes.map(({ value }) => value)).toEqual([1, 2]);
    expectRest(batcher);
  });

  test("'fail': items are rejected at once, with the time until the next trial", async () => {
    const a = new GatedBackend('a');
    const { batcher, clock } = placed([a], {
      ...one,
      name: 'm',
      set: { maxFailures: 1, whenNoneReady: 'fail' },
    });
    const outcomes = [1, 2].map((item) => outcomeOf(batcher.submit(item)));
    await clock.advance(5);
    a.fail(lost('a'));
    await clock.advance(0);
    outcomes.push(outcomeOf(batcher.submit(3)));
    await clock.advance(0);
    expect(outcomes.map(({ code }) => code)).toEqual(['UNAVAILABLE', 'UNAVAILABLE', 'UNAVAILABLE']);
    expect(outcomes[2]?.error).toMatchObject({
      message: 'm: No backend is ready. Last error: the connection to a was lost',
      retryAfterMs: 1000,
    });
    expect(batcher.stats()).toMatchObject({ failed: 1, refused: 2, refusals: { UNAVAILABLE: 2 } });
    await clock.advance(1000);
    const trial = outcomeOf(batcher.submit(4));
    await clock.advance(0);
    a.answer();
    await clock.advance(0);
    expect(trial.value).toBe(4);
    expectRest(batcher);
  });

  test("'wait': items fail at once while all backends are unreachable, with the reason", async () => {
    const [a, b] = [new GatedBackend('a'), new GatedBackend('b')];
    const { batcher, clock } = placed([a, b], { ...one, name: 'm' });
    batcher.backends.setHealth('a', 'unreachable', new Error('thread a keeps ending'));
    batcher.backends.setHealth('b', false);
    const queued = outcomeOf(batcher.submit(1));
    await clock.advance(10_000);
    expect(queued.state).toBe('pending');
    batcher.backends.setHealth('b', 'unreachable');
    const later = outcomeOf(batcher.submit(2));
    await clock.advance(0);
    expect([queued.code, later.code]).toEqual(['UNAVAILABLE', 'UNAVAILABLE']);
    expect(later.error).toMatchObject({ message: expect.stringMatching(/^m: .*thread a keeps ending/) });
    batcher.backends.setHealth('a', true);
    const served = outcomeOf(batcher.submit(3));
    await clock.advance(0);
    a.answer();
    await clock.advance(0);
    expect(served.value).toBe(3);
    expectRest(batcher);
  });

  test("'try': ejected backends get batches, and unreachable ones only if all are unreachable", async () => {
    const [a, b] = [new GatedBackend('a'), new GatedBackend('b')];
    const { batcher, clock } = placed([a, b], { ...one, set: { whenNoneReady: 'try' } });
    batcher.backends.setHealth('a', 'unreachable');
    batcher.backends.setHealth('b', false);
    for (const item of [1, 2]) batcher.submit(item).catch(() => {});
    await clock.advance(0);
    expect([a.batches.length, b.batches.length]).toEqual([0, 1]);
    batcher.backends.setHealth('b', 'unreachable');
    await clock.advance(0);
    expect([a.batches.length, b.batches.length]).toEqual([1, 1]);
    batcher.destroy();
  });

  test("'try': a batch that is not started is retried `retries` times", async () => {
    // Root cause: batches of ejected backends counted as trials, whose items are returned without a limit.
    const a = new GatedBackend('a');
    a.isUnavailable = true;
    const { batcher, clock } = placed([a], { set: { maxFailures: 1, whenNoneReady: 'try' }, ...one });
    const outcome = outcomeOf(batcher.submit(1));
    await clock.advance(0);
    expect(a.batches).toEqual([[1], [1]]);
    expect(outcome.error).toMatchObject({ code: 'UNAVAILABLE', message: 'a is unavailable' });
  });

  test("'try': without any backend new and queued items are rejected at once", async () => {
    const a = new GatedBackend('a');
    const { batcher, clock } = placed([a], { set: { whenNoneReady: 'try' }, ...one });
    const outcomes = [1, 2].map((item) => outcomeOf(batcher.submit(item)));
    await clock.advance(0);
    void batcher.backends.drain('a');
    outcomes.push(outcomeOf(batcher.submit(3)));
    await clock.advance(0);
    expect(outcomes.map(({ state }) => state)).toEqual(['pending', 'rejected', 'rejected']);
    a.answer();
    await clock.advance(0);
    expect(outcomes[0]?.state).toBe('resolved');
    expect(() => placed([], { set: { whenNoneReady: 'try' } })).not.toThrow();
  });

  test('a trial does not exceed the slots of its backend', async () => {
    const a = new GatedBackend('a', 2);
    const { batcher, clock } = placed([a], { set: { maxFailures: 1, backOffMs: 10 }, ...one });
    for (let i = 1; i <= 4; i++) batcher.submit(i).catch(() => {});
    await clock.advance(0);
    a.fail(lost('a'));
    await clock.advance(50);
    // The batch from before the ejection and one trial; the next trial is due, too.
    expect(a.batches).toEqual([[1], [2], [3]]);
    a.gate.call(0).answer([1]);
    await clock.advance(0);
    expect(a.batches).toEqual([[1], [2], [3], [4]]);
    batcher.destroy();
  });

  test('no timer remains after close()', async () => {
    const a = new GatedBackend('a');
    const { batcher, clock } = placed([a], { set: { maxFailures: 1 } });
    batcher.submit(1).catch(() => {});
    await clock.advance(0);
    a.fail(lost('a'));
    await clock.advance(0);
    expect(clock.pendingTimers).toBe(1);
    await batcher.close();
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('a probe', () => {
  test('replaces trial batches, and is called again after a longer back-off', async () => {
    const a = new GatedBackend('a');
    let probes = 0;
    let isReady = false;
    const probe = async () => {
      probes += 1;
      if (!isReady) throw new Error('warming up');
    };
    const { batcher, clock } = placed([Object.assign(a, { probe })]);
    batcher.backends.setHealth('a', false, new Error('lost'));
    const outcome = outcomeOf(batcher.submit(1));
    await clock.advance(1000);
    expect([probes, a.batches.length]).toEqual([1, 0]);
    expect(batcher.backends.outage).toMatchObject({ retryAfterMs: 2000 });
    isReady = true;
    await clock.advance(2000);
    expect([probes, a.batches.length]).toEqual([2, 1]);
    a.answer();
    await clock.advance(0);
    expect(outcome.value).toBe(1);
    batcher.backends.setHealth('a', false);
    batcher.backends.probe('a');
    await clock.advance(0);
    expect([probes, batcher.stats().backends[0]?.state]).toEqual([3, 'ready']);
  });
});

describe('a changing set of backends', () => {
  test('an added backend gets batches at once', async () => {
    const [a, b] = [new GatedBackend('a'), new GatedBackend('b')];
    const { batcher, clock } = placed([a], one);
    for (const item of [1, 2]) batcher.submit(item).catch(() => {});
    await clock.advance(0);
    batcher.backends.add(b);
    await clock.advance(0);
    expect(b.batches).toEqual([[2]]);
    batcher.destroy();
  });

  test('a backend that is added as not ready gets no batch before it is', async () => {
    const [a, b] = [new GatedBackend('a'), new GatedBackend('b')];
    const { batcher, clock } = placed([a], one);
    for (const item of [1, 2]) batcher.submit(item).catch(() => {});
    await clock.advance(0);
    batcher.backends.add(b, 'unreachable');
    await clock.advance(0);
    expect(b.batches).toEqual([]);
    batcher.backends.setHealth('b', true);
    await clock.advance(0);
    expect(b.batches).toEqual([[2]]);
  });

  test('the id of a draining backend can be used by a new one', async () => {
    const [old, next] = [new GatedBackend('a'), new GatedBackend('a')];
    const { batcher, clock } = placed([old], one);
    const outcomes = [1, 2].map((item) => outcomeOf(batcher.submit(item)));
    await clock.advance(0);
    const drained = batcher.backends.drain('a');
    batcher.backends.add(next);
    await clock.advance(0);
    expect(next.batches).toEqual([[2]]);
    old.answer();
    await drained;
    next.answer();
    await clock.advance(0);
    expect(outcomes.map(({ value }) => value)).toEqual([1, 2]);
    expect(batcher.backends.stats()).toMatchObject([{ id: 'a', running: 0, batches: 1 }]);
  });

  test('`onEjected` is called for failures, and not for health checks', async () => {
    const [a, b] = [new GatedBackend('a'), new GatedBackend('b')];
    const ejected: unknown[][] = [];
    const onEjected = (...args: unknown[]) => void ejected.push(args);
    const { batcher, clock } = placed([a, b], { set: { maxFailures: 1, onEjected }, ...one });
    batcher.backends.setHealth('b', false);
    batcher.submit(1).catch(() => {});
    await clock.advance(0);
    const error = lost('a');
    a.fail(error);
    await clock.advance(0);
    expect(ejected).toEqual([['a', 1000, error]]);
  });

  test('a draining backend gets no batches and is removed after its last one', async () => {
    const [a, b] = [new GatedBackend('a'), new GatedBackend('b')];
    const { batcher, clock } = placed([a, b], one);
    for (const item of [1, 2, 3]) batcher.submit(item).catch(() => {});
    await clock.advance(0);
    let isGone = false;
    batcher.backends.drain('a').then(() => {
      isGone = true;
    });
    await clock.advance(0);
    expect([isGone, batcher.stats().backends[0]?.state]).toEqual([false, 'draining']);
    a.answer();
    await clock.advance(0);
    expect([isGone, batcher.stats().backends.length, a.batches.length]).toEqual([true, 1, 1]);
    batcher.destroy();
  });

  test('the callers of a removed backend get UNAVAILABLE, and their signal fires', async () => {
    const [a, b] = [new GatedBackend('a'), new GatedBackend('b')];
    const { batcher, clock } = placed([a, b], one);
    const outcomes = [1, 2].map((item) => outcomeOf(batcher.submit(item)));
    await clock.advance(0);
    const { signal } = a.gate.call(0).context;
    batcher.backends.remove('a');
    b.answer();
    await clock.advance(0);
    expect(outcomes.map(({ code, value }) => code ?? value)).toEqual(['UNAVAILABLE', 2]);
    expect(signal.aborted).toBe(true);
    expectRest(batcher);
  });

  test('a removed backend gets no more batches, although its batches end with it', async () => {
    const a = new GatedBackend('a', 2);
    const { batcher, clock } = placed([a], one);
    const outcomes = [1, 2, 3, 4].map((item) => outcomeOf(batcher.submit(item)));
    await clock.advance(0);
    batcher.backends.remove('a');
    await clock.advance(0);
    expect(a.batches).toEqual([[1], [2]]);
    expect(outcomes.map(({ state }) => state)).toEqual(['rejected', 'rejected', 'pending', 'pending']);
    batcher.destroy();
  });

  test('a listener is called for every change of state', async () => {
    const a = new GatedBackend('a');
    const { batcher } = placed([a]);
    const states: (string | undefined)[] = [];
    const stop = batcher.backends.onChange(() => states.push(batcher.stats().backends[0]?.state));
    batcher.backends.setHealth('a', false);
    batcher.backends.setHealth('a', true);
    batcher.backends.setHealth('a', true);
    stop();
    batcher.backends.setHealth('a', false);
    expect(states).toEqual(['ejected', 'ready']);
  });
});

describe('invalid backends are rejected with the reason:', () => {
  const a = new GatedBackend('a');
  const wrong: [string, unknown][] = [
    ['backends: expected a list of { id, slots, run } or a BackendSet, got 3.', 3],
    ['backends: expected at least one backend, or a BackendSet for backends that are added later.', []],
    ['backends[0]: expected an object, got null.', [null]],
    ['backends[0].id: expected a string that is not empty, got undefined.', [{}]],
    ['backends[0].slots: expected a whole number from 1 up, or Infinity, got 0.', [{ id: 'a', slots: 0 }]],
    ['backends[0].run: expected a function, got undefined.', [{ id: 'a', slots: 1 }]],
    ['backends[1].probe: expected a function, got 5.', [a, { id: 'b', slots: 1, run: a.run, probe: 5 }]],
    ['backends: there are two with the id "a".', [a, a]],
  ];
  test.each(wrong)('%s', (message, backends) => {
    expect(() => new Batcher({ backends } as never)).toThrow(new BatchwiseError('INVALID_OPTION', message));
  });

  test('an unknown id', () => {
    const { batcher } = placed([a]);
    expect(() => batcher.backends.setHealth('b', true)).toThrow(
      'backends.setHealth(id): there is no backend "b". Known are a.',
    );
  });

  test('a handler and backends', () => {
    const options = { backends: [a] } as BatcherOptions<number>;
    expect(() => new Batcher((items: number[]) => items, options)).toThrow(
      'new Batcher(handler, options): backends replace the handler: new Batcher({ backends }).',
    );
    const batcher = new Batcher((items: number[]) => items);
    expect(() => batcher.backends).toThrow('batcher: the batcher has a handler.');
  });
});

// Root cause: the error of an outage was read once for all queued items, and rejected callers can end the outage.
test('items are rejected only until a rejected caller makes a backend ready', async () => {
  const a = new GatedBackend('a');
  const { batcher, clock } = placed([a], { policy: { name: 'holds', decide: () => forever } });
  const sinks = [1, 2, 3].map(() => new RecordingSink(() => batcher.backends.setHealth('a', true)));
  for (const sink of sinks) batcher.enqueue(1, sink);
  await clock.settle();
  batcher.backends.setHealth('a', 'unreachable');
  await clock.settle();
  expect(sinks.map(({ fate }) => fate)).toEqual(['UNAVAILABLE', 'pending', 'pending']);
  batcher.flush();
  await clock.settle();
  a.answer();
  await clock.settle();
  expect(sinks.map(({ fate }) => fate)).toEqual(['UNAVAILABLE', 'ok', 'ok']);
  expectRest(batcher);
});
