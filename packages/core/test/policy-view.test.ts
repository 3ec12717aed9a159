/** The view of a policy. Reading it has no effect on dispatch. */
import { Batcher, type QueueView, VirtualClock } from 'batchwise';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { expectRest } from './support/books.js';
import { deciding, forever, positionsOf } from './support/deciding.js';
import { seeded } from './support/random.js';

test('a policy sees the length and cost of the queue, and each position with its arrival, cost and deadline', async () => {
  let seen: unknown;
  const { clock, batcher, submit } = deciding(
    (view) => {
      const { length, cost, oldestAt, waitingElsewhere } = view;
      seen = { length, cost, oldestAt, waitingElsewhere, positions: positionsOf(view) };
      return forever;
    },
    { costOf: (item) => item, targetLatencyMs: 1000, maxBatchSize: 100 },
  );
  await clock.advance(10);
  submit(5);
  await clock.advance(5);
  void batcher.submit(7, { timeoutMs: 300 });
  await clock.advance(5);
  void batcher.submit(2.5, { timeoutMs: 5000 });
  await clock.advance(0);
  expect(seen).toEqual({
    length: 3,
    cost: 14.5,
    oldestAt: 10,
    waitingElsewhere: 0,
    positions: [
      { arrivedAt: 10, cost: 5, deadlineAt: 1010 },
      { arrivedAt: 15, cost: 7, deadlineAt: 315 },
      { arrivedAt: 20, cost: 2.5, deadlineAt: 1020 },
    ],
  });
});

test('without a deadline and a target, a position has none', async () => {
  const deadlines: number[] = [];
  const { clock, submit } = deciding((view) => {
    deadlines.push(view.deadlineAt(0));
    return forever;
  });
  submit(1);
  await clock.advance(0);
  expect(deadlines).toEqual([Infinity]);
});

test('a shared item has the latest deadline of its callers', async () => {
  const deadlines: number[] = [];
  const { clock, batcher } = deciding(
    (view) => {
      deadlines.push(view.length, view.deadlineAt(0));
      return forever;
    },
    { dedupeBy: (item) => item },
  );
  for (const timeoutMs of [10, 30, 20]) void batcher.submit(1, { timeoutMs }).catch(() => {});
  await clock.advance(0);
  expect(deadlines).toEqual([1, 30]);
});

test('a policy sees the slots, the running batches, the limits and the estimates', async () => {
  let seen: Record<string, unknown> = {};
  const { clock, gate, batcher, submit } = deciding(
    (view) => {
      const { slots, freeSlots, running, lastDispatchAt, limits, curve, traffic } = view;
      seen = {
        slots,
        freeSlots,
        running: running.map(({ cost, startedAt }) => ({ cost, startedAt })),
        lastDispatchAt,
        limits: [limits.maxBatchSize, limits.targetLatencyMs],
        curve: [curve.samples, curve.mean(2), curve.updatedAt],
        lastArrivalAt: traffic.lastAt,
      };
      return { action: 'dispatch', count: view.length, reason: 'idle' };
    },
    { concurrency: 3, maxBatchSize: 8, targetLatencyMs: 500 },
  );
  await clock.advance(5);
  submit(1);
  await clock.advance(0);
  expect(seen).toMatchObject({
    slots: 3,
    freeSlots: 3,
    running: [],
    lastDispatchAt: -Infinity,
    curve: [0, undefined, -Infinity],
  });
  await clock.advance(10);
  submit(2, 3);
  await clock.advance(20);
  gate.call(1).answer([2, 3]);
  await clock.advance(0);
  submit(4);
  await clock.advance(0);
  expect(seen).toEqual({
    slots: 3,
    freeSlots: 2,
    running: [{ cost: 1, startedAt: 5 }],
    lastDispatchAt: 15,
    limits: [8, 500],
    curve: [1, 20, 35],
    lastArrivalAt: 35,
  });
  batcher.destroy();
});

test('a policy sees one group at a time, and the number of items in others', async () => {
  const seen: [number, number][] = [];
  const { clock, submit } = deciding(
    (view) => {
      seen.push([view.length, view.waitingElsewhere]);
      return forever;
    },
    { groupOf: (item) => item % 2 },
  );
  submit(1, 2, 3, 5);
  await clock.advance(0);
  expect(seen).toEqual([
    [3, 1],
    [1, 3],
  ]);
});

interface Submission {
  readonly priority: number;
  readonly tenant: string | undefined;
  readonly weight: number | undefined;
  readonly cost: number;
  readonly afterMs: number;
  /** Selects an earlier item to cancel. */
  readonly cancels: number | null;
}

const plain: Submission = {
  priority: 0,
  tenant: undefined,
  weight: undefined,
  cost: 1,
  afterMs: 0,
  cancels: null,
};

const submissions = fc.array(
  fc.record<Submission>({
    priority: fc.constantFrom(0, 0, 1, 2),
    tenant: fc.constantFrom(undefined, 'acme', 'bolt', 'core'),
    weight: fc.constantFrom(undefined, 1, 3, 0.7),
    cost: fc.constantFrom(1, 1, 0.1, 2.5),
    afterMs: fc.constantFrom(0, 0, 0, 1, 700),
    cancels: fc.option(fc.nat(), { freq: 8 }),
  }),
  { minLength: 1, maxLength: 30 },
);

test('the positions are in dispatch order, with tenants and priorities mixed', async () => {
  await fc.assert(
    fc.asyncProperty(submissions, async (script) => {
      let shown: number[] = [];
      let dispatches = false;
      // Each item has a different cost, which identifies it.
      const { clock, gate, batcher } = deciding(
        (view) => {
          shown = positionsOf(view).map(({ cost }) => cost);
          return dispatches ? { action: 'dispatch', count: view.length, reason: 'idle' } : forever;
        },
        { costOf: (item) => item, maxBatchSize: -1 },
      );
      for (const [i, { priority, tenant, weight, afterMs }] of script.entries()) {
        void batcher.submit(1 + i / 1000, { priority, tenant, weight });
        if (afterMs > 0) await clock.advance(afterMs);
      }
      await clock.advance(0);
      expect(shown).toHaveLength(script.length);
      const before = shown;
      dispatches = true;
      batcher.configure({ maxWaitMs: 1e9 });
      expect(gate.batches).toEqual([before]);
      expect(shown).toEqual(before);
    }),
    { numRuns: 200 },
  );
});

type Looks = (view: QueueView) => void;

/** Reads positions in a random order, some of them twice. */
function readsAtRandom(view: QueueView): void {
  const random = seeded(view.length);
  for (let look = 0; look < 2 * view.length; look++) {
    const position = Math.floor(view.length * random());
    view.deadlineAt(position);
    view.costAt(position);
    view.tenantAt?.(position);
  }
}

/** Runs a script of submissions, in batches of cost up to 5, with a policy that reads the view in this way, or not. */
async function orderOf(script: Submission[], looks: Looks | boolean) {
  let dispatches = false;
  const { clock, gate, batcher } = deciding(
    (view) => {
      if (typeof looks === 'function') looks(view);
      else if (looks) positionsOf(view);
      return dispatches ? { action: 'dispatch', count: view.length, reason: 'idle' } : forever;
    },
    {
      maxBatchSize: 5,
      concurrency: Infinity,
      costOf: (item) => script[item]?.cost ?? 1,
      groupOf: (item) => item % 7 === 6,
    },
  );
  const tickets: { cancel(): void }[] = [];
  const sink = { resolve: () => {}, reject: () => {} };
  for (const [item, { priority, tenant, weight, afterMs, cancels }] of script.entries()) {
    tickets.push(batcher.enqueue(item, sink, { priority, tenant, weight }));
    if (cancels !== null) tickets[cancels % tickets.length]?.cancel();
    if (afterMs > 0) await clock.advance(afterMs);
    if (item === script.length >> 1) {
      // In the middle all queued items are dispatched, so that the second half has tenants with a history.
      dispatches = true;
      batcher.configure({ maxWaitMs: 1e9 });
      dispatches = false;
    }
  }
  await clock.advance(0);
  dispatches = true;
  batcher.configure({ maxWaitMs: 1e9 });
  for (let call = 0; call < gate.calls.length; call++) {
    gate.call(call).answer(gate.call(call).items);
    await clock.advance(0);
  }
  expectRest(batcher);
  return gate.batches;
}

test('reading every position does not change the order of dispatch', async () => {
  await fc.assert(
    fc.asyncProperty(submissions, async (script) => {
      expect(await orderOf(script, true)).toEqual(await orderOf(script, false));
    }),
    { numRuns: 500 },
  );
});

test('the order in which a policy reads the positions does not change what is dispatched', async () => {
  const reads: Looks[] = [
    readsAtRandom,
    (view) => void view.deadlineAt(view.length - 1),
    (view) => {
      for (let position = view.length - 1; position >= 0; position--) view.arrivedAt(position);
    },
  ];
  await fc.assert(
    fc.asyncProperty(submissions, fc.constantFrom(...reads), async (script, looks) => {
      expect(await orderOf(script, looks)).toEqual(await orderOf(script, false));
    }),
    { numRuns: 300 },
  );
});

test('reading does not change the order of two tenants that arrived together', async () => {
  for (const looks of [false, true]) {
    const script = ['acme', 'bolt'].map((tenant) => ({ ...plain, tenant }));
    expect(await orderOf(script, looks)).toEqual([[0, 1]]);
  }
});

test('reading does not change the place of a tenant that arrives later', async () => {
  for (const looks of [false, true]) {
    const script = ['acme', 'acme', 'acme', 'acme', 'bolt'].map((tenant) => ({
      ...plain,
      tenant,
      afterMs: 1,
    }));
    expect((await orderOf(script, looks)).flat()).toEqual([0, 1, 2, 4, 3]);
  }
});

// Root cause: handler timeouts of running batches counted as deadlines of callers.
test('a handler timeout is not a deadline of queued items', async () => {
  const clock = new VirtualClock();
  const seen: number[] = [];
  const policy = {
    name: 'looking',
    decide(view: QueueView) {
      seen.push(view.nextDeadline, view.earliestDeadline(1));
      return { action: 'dispatch', count: 1, reason: 'idle' } as const;
    },
  };
  const options = { clock, policy, concurrency: 2, handlerTimeoutMs: 50 };
  const batcher = new Batcher(() => new Promise<number[]>(() => {}), options);
  const calls = [batcher.submit(1), batcher.submit(2)];
  await clock.advance(1);
  expect(seen).toEqual(Array(4).fill(Number.POSITIVE_INFINITY));
  const ends = Promise.allSettled(calls);
  await clock.advance(60);
  expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});
