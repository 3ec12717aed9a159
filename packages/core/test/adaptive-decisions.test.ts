/** The adaptive policy, asked directly: whatever it has lived through and is shown, what it answers makes sense. */
import { adaptive, type Decision, greedy, type Policy, ServiceCurve } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { paddedTo } from '../src/learning/padding.js';
import { safeMs } from '../src/learning/trust.js';
import { boldlyMs } from '../src/policy/growth.js';
import { validDecision } from '../src/policy/policy.js';
import { lived, type Past, type Shown, shownView, type Waiting } from './support/shown-view.js';

const { POSITIVE_INFINITY } = Number;

describe('adaptive(options)', () => {
  test.each([
    [
      { prefers: 'latency' },
      'adaptive(options): unknown option "prefers". Did you mean prefer? Known are prefer.',
    ],
    [{ maxWaitMs: 5 }, 'adaptive(options): unknown option "maxWaitMs". Known are prefer.'],
    [
      { prefer: 'speed' },
      `adaptive({ prefer }): expected 'latency' or 'efficiency', got the string "speed".`,
    ],
    [{ prefer: null }, `adaptive({ prefer }): expected 'latency' or 'efficiency', got null.`],
    [
      { prefer: 'Latency' },
      `adaptive({ prefer }): expected 'latency' or 'efficiency', got the string "Latency".`,
    ],
    [null, 'adaptive(options): expected an object, got null.'],
    ['efficiency', 'adaptive(options): expected an object, got the string "efficiency".'],
  ])('%j is refused, and told what was expected', (options, message) => {
    expect(() => adaptive(options as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message }),
    );
  });

  test('with nothing, or nothing said, prefers latency', () => {
    for (const options of [undefined, {}, { prefer: undefined }, { prefer: 'latency' }] as const) {
      expect(adaptive(options)).toMatchObject({ name: 'adaptive', decide: expect.any(Function) });
    }
  });
});

const MODES = ['latency', 'efficiency'] as const;
/** Backends of every shape: too quick to measure, fixed, growing, padded, worse past a size, very slow. */
const BACKENDS = {
  'too quick to measure': () => 0,
  fixed: () => 10,
  growing: (cost: number) => 2 + 0.3 * cost,
  'by tokens': (cost: number) => 5 + cost / 1e5,
  padded: (cost: number) => 2 + 0.25 * 2 ** Math.ceil(Math.log2(Math.max(1, cost))),
  'worse past 8': (cost: number) => (cost <= 8 ? 4 + cost / 10 : cost ** 1.7),
  slow: (cost: number) => 60_000 + cost,
};

const oneOf = (...values: number[]) => fc.constantFrom(...values);
const some = <T>(...values: T[]) => fc.array(fc.constantFrom(...values), { minLength: 1, maxLength: 6 });

/** What is asked, in plain data; lists are gone through over and over. */
const situations = fc.record({
  prefer: fc.constantFrom(...MODES),
  backend: fc.constantFrom(...(Object.keys(BACKENDS) as (keyof typeof BACKENDS)[])),
  knowsCurve: fc.boolean(),
  past: fc.record({
    gapsMs: some(0, 0.01, 0.2, 1, 7, 300),
    together: some(1, 1, 2, 16),
    cost: oneOf(1, 1, 1, 0.25, 37.5, 1e6),
    sizes: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 12 }),
    batches: oneOf(0, 1, 5, 20, 40),
  }),
  limits: fc.record({
    maxBatchSize: oneOf(1, 8, 64, 4096, 1e8, POSITIVE_INFINITY),
    slots: oneOf(1, 1, 2, 4, POSITIVE_INFINITY),
    targetLatencyMs: oneOf(0.5, 20, 100, 5000, POSITIVE_INFINITY, POSITIVE_INFINITY),
    timerResolutionMs: oneOf(0, 1, 15),
    batchSizes: fc.constantFrom([], [], [1, 2, 4, 8, 16, 32, 64], [8]),
    isGrouped: fc.boolean(),
    waitingElsewhere: oneOf(0, 3),
  }),
  busy: fc.array(fc.record({ cost: oneOf(1, 8, 40), sinceMs: oneOf(0, 1, 9, 500) }), {
    maxLength: 3,
  }),
  length: fc.oneof(
    { weight: 20, arbitrary: fc.integer({ min: 1, max: 12 }) },
    { weight: 8, arbitrary: fc.integer({ min: 13, max: 300 }) },
    { weight: 1, arbitrary: oneOf(1000, 10_000) },
  ),
  agesMs: some(0, 0.5, 3, 20, 99, 2000),
  costs: fc.oneof(fc.constant([1]), some(1, 1, 1, 0.1, 2.5, 1e6)),
  leftMs: fc.oneof(
    fc.constant([POSITIVE_INFINITY]),
    some(1, 6, 30, 1000, POSITIVE_INFINITY, POSITIVE_INFINITY),
  ),
});

type Situation = typeof situations extends fc.Arbitrary<infer T> ? T : never;

type Item = Required<Waiting>;

interface Question {
  readonly waiting: readonly Item[];
  readonly curve: ServiceCurve;
  readonly shown: Shown;
  readonly now: number;
  readonly decision: Decision;
}

/** Lives through the past and asks. */
function ask({ prefer, backend, knowsCurve, past, limits, ...given }: Situation): Question {
  const durationMs = BACKENDS[backend];
  const points = knowsCurve
    ? [1, 8, 64].map((cost) => ({ cost, durationMs: durationMs(paddedTo(limits.batchSizes, cost)) || 0.1 }))
    : [];
  const curve = new ServiceCurve(points, limits.batchSizes);
  // No item costs more than a batch may, and no batch has cost more: the batcher sees to that.
  const cost = Math.min(past.cost, limits.maxBatchSize);
  const sizes = past.sizes.map((size) => Math.max(1, Math.min(size, Math.floor(limits.maxBatchSize / cost))));
  const lifetime: Past = { ...past, cost, sizes, durationMs };
  const { policy, arrivals, now } = lived(adaptive({ prefer }), lifetime, limits, curve);
  const running = given.busy.slice(0, limits.slots - 1).map(({ cost, sinceMs }) => ({
    size: cost,
    cost,
    startedAt: now - sinceMs,
  }));
  const from = <T>(values: readonly T[], i: number) => values[i % values.length] as T;
  const waiting = Array.from({ length: given.length }, (_, i) => ({
    arrivedAt: now - from(given.agesMs, i),
    cost: Math.min(from(given.costs, i), limits.maxBatchSize),
    deadline: Math.min(now + from(given.leftMs, i), now - from(given.agesMs, i) + limits.targetLatencyMs),
  }));
  const latest = { freeSince: now - 1, lastDispatchAt: now - 1 };
  const shown: Shown = { ...limits, ...latest, waiting, running, curve, arrivals };
  return answerOf(policy, { waiting, curve, shown, now });
}

/** Those who are hopeless wherever they stand are sent away, a few thousand at a time, and it is asked again. */
function answerOf(policy: Policy, question: Omit<Question, 'decision'>): Question {
  const { waiting, curve, shown, now } = question;
  const decision = policy.decide(shownView(shown), now);
  const hopeless = new Set(decision.action === 'wait' ? decision.refuseAt : []);
  if (hopeless.size === 0) return { ...question, decision };
  // With the others, who would have to do without each other else, or alone.
  const together = Math.min(costOf(waiting), shownView(shown).limits.maxBatchSize);
  for (const position of hopeless) {
    const { cost, deadline } = waiting[position] as Item;
    expect(now + safeMs(curve, boldlyMs(curve, Math.max(cost, together)))).toBeGreaterThan(deadline);
  }
  const left = waiting.filter((_, position) => !hopeless.has(position));
  return answerOf(policy, { ...question, waiting: left, shown: { ...shown, waiting: left } });
}

const costOf = (waiting: readonly Item[]) => waiting.reduce((sum, { cost }) => sum + cost, 0);

/** Those whom a decision to wait leaves waiting. */
function leftWaiting({ waiting, decision }: Question): readonly Item[] {
  return decision.action === 'wait' ? waiting.slice(decision.refuse ?? 0) : [];
}

/** Sums of fractions are off by a hair: an arrival and its deadline, 20 ms later, may be 19.999… apart. */
const HAIR_MS = 1e-6;

/** Whether all can be served in time by one slot, from this time on, in one batch or in two, if all had so much longer. */
function inTime({ curve }: Question, waiting: readonly Item[], from: number, moreMs: number): boolean {
  const earliest = (part: readonly Item[]) =>
    part.reduce((first, { deadline }) => Math.min(first, deadline), POSITIVE_INFINITY);
  const takesMs = (part: readonly Item[]) =>
    part.length === 0 ? 0 : (curve.predict(costOf(part)) as number);
  for (let count = waiting.length; count > 0; count--) {
    const [first, rest] = [waiting.slice(0, count), waiting.slice(count)];
    const endsAt = from + takesMs(first);
    if (endsAt <= earliest(first) + moreMs && endsAt + takesMs(rest) <= earliest(rest) + moreMs) return true;
  }
  return false;
}

/** Whether batches take as long as they are expected to, so that no margin is needed. */
function isExact({ curve }: Question): boolean {
  return curve.spread < 1e-3;
}

const MANY = { numRuns: 500 };

/** Half of them have no time left, by rounding a ten millionth of a nanosecond less, and the backend takes none. */
const LATE_BY_A_HAIR: Situation = {
  prefer: 'latency',
  backend: 'too quick to measure',
  knowsCurve: true,
  past: { gapsMs: [0.2], together: [1], cost: 1, sizes: [3], batches: 5 },
  limits: {
    maxBatchSize: POSITIVE_INFINITY,
    slots: 1,
    targetLatencyMs: 20,
    timerResolutionMs: 0,
    batchSizes: [8],
    isGrouped: false,
    waitingElsewhere: 0,
  },
  busy: [],
  length: 13,
  agesMs: [0, 20],
  costs: [1],
  leftMs: [POSITIVE_INFINITY],
};

/** Of 42 with 17 ms left, 32 are in time and the other ten then late; 31, just below a step, and eleven are all in time. */
const ONE_TOO_MANY: Situation = {
  prefer: 'efficiency',
  backend: 'padded',
  knowsCurve: true,
  past: {
    gapsMs: [300, 7, 0.2, 300, 1],
    together: [1, 16, 2, 16, 1, 1],
    cost: 1,
    sizes: [36, 6, 31, 27, 33, 12, 24],
    batches: 5,
  },
  limits: {
    maxBatchSize: 64,
    slots: 1,
    targetLatencyMs: 20,
    timerResolutionMs: 0,
    batchSizes: [8],
    isGrouped: false,
    waitingElsewhere: 0,
  },
  busy: [],
  length: 42,
  agesMs: [3],
  costs: [1],
  leftMs: [POSITIVE_INFINITY],
};

/** One who makes a full batch alone, while the other slots have only just begun. */
const FULL_BY_ITSELF: Situation = {
  prefer: 'efficiency',
  backend: 'padded',
  knowsCurve: true,
  past: { gapsMs: [0.2, 0.01, 1], together: [1, 2, 2, 1, 16], cost: 1, sizes: [25], batches: 40 },
  limits: {
    maxBatchSize: 64,
    slots: 4,
    targetLatencyMs: 20,
    timerResolutionMs: 0,
    batchSizes: [],
    isGrouped: false,
    waitingElsewhere: 3,
  },
  busy: [
    { cost: 40, sinceMs: 1 },
    { cost: 1, sinceMs: 1 },
    { cost: 40, sinceMs: 1 },
  ],
  length: 1,
  agesMs: [0],
  costs: [1e6],
  leftMs: [POSITIVE_INFINITY],
};

/** Those in a hurry have time for a full batch; for more than a full one they would not. */
const NO_MORE_THAN_FULL: Situation = {
  prefer: 'latency',
  backend: 'by tokens',
  knowsCurve: false,
  past: { gapsMs: [0], together: [1], cost: 37.5, sizes: [33, 1], batches: 20 },
  limits: {
    maxBatchSize: 4096,
    slots: 1,
    targetLatencyMs: POSITIVE_INFINITY,
    timerResolutionMs: 0,
    batchSizes: [],
    isGrouped: false,
    waitingElsewhere: 0,
  },
  busy: [],
  length: 13,
  agesMs: [0],
  costs: [1, 1e6, 1],
  leftMs: [6, 1000],
};

describe('whatever it has lived through, and whatever it is shown,', () => {
  test('it decides on what can be carried out', () => {
    fc.assert(
      fc.property(situations, (given) => {
        const { decision, waiting, now } = ask(given);
        expect(validDecision(decision, now)).toBe(decision);
        const { refuse = 0 } = decision;
        expect(refuse).toBeLessThanOrEqual(waiting.length);
        if (decision.action === 'dispatch')
          expect(refuse + decision.count).toBeLessThanOrEqual(waiting.length);
      }),
      { ...MANY, examples: [[NO_MORE_THAN_FULL]] },
    );
  });

  test('it does as greedy() does as long as nothing is known of the backend', () => {
    fc.assert(
      fc.property(situations, (given) => {
        const { shown, now } = ask(given);
        const view = shownView({ ...shown, curve: new ServiceCurve() });
        for (const prefer of MODES) {
          expect(adaptive({ prefer }).decide(view, now)).toEqual(greedy().decide(view, now));
        }
      }),
      { numRuns: 200 },
    );
  });

  test('it keeps nobody waiting who would make a full batch', () => {
    fc.assert(
      fc.property(situations, (given) => {
        const question = ask(given);
        if (question.decision.refuse) return; // of a long queue the hopeless are let go bit by bit
        expect(costOf(leftWaiting(question))).toBeLessThan(given.limits.maxBatchSize);
      }),
      { ...MANY, examples: [[FULL_BY_ITSELF]] },
    );
  });

  test('it waits for no shorter than timers are fine', () => {
    fc.assert(
      fc.property(situations, (given) => {
        const question = ask(given);
        const { decision, now } = question;
        if (decision.action === 'dispatch' || leftWaiting(question).length === 0) return;
        if (decision.refuse) return; // of a long queue the hopeless are let go bit by bit
        expect(decision.until - now).toBeGreaterThanOrEqual(given.limits.timerResolutionMs - HAIR_MS);
      }),
      MANY,
    );
  });

  test('it waits for no longer than all can still be served in time, whoever of them is in the greatest hurry', () => {
    fc.assert(
      fc.property(situations, (given) => {
        const question = ask(given);
        const { decision } = question;
        const waiting = leftWaiting(question);
        if (decision.action === 'dispatch' || waiting.length === 0 || waiting.length > 300) return;
        expect(inTime(question, waiting, decision.until, HAIR_MS)).toBe(true);
      }),
      MANY,
    );
  });

  test('it holds nobody among groups, unless to save the backend', () => {
    fc.assert(
      fc.property(situations, (given) => {
        const grouped = {
          ...given,
          prefer: 'latency' as const,
          limits: { ...given.limits, isGrouped: true },
        };
        const question = ask(grouped);
        if (question.decision.refuse) return; // of a long queue the hopeless are let go bit by bit
        expect(leftWaiting(question)).toEqual([]);
      }),
      MANY,
    );
  });

  test('it lets nobody go who has time for the batch that leaves instead, or to be served alone if none does', () => {
    fc.assert(
      fc.property(situations, (given) => {
        const question = ask(given);
        const { decision, waiting, curve, now } = question;
        if (!isExact(question)) return;
        const { refuse = 0 } = decision;
        const count = decision.action === 'dispatch' ? decision.count : 0;
        const batch = costOf(waiting.slice(refuse, refuse + count));
        // How long one takes that costs more than any batch before is anybody's guess, and so is it of a batch.
        const largest = curve.points().at(-1)?.cost ?? 0;
        if (batch > 2 * largest) return;
        const canBe = (cost: number, deadline: number) => deadline >= now + (curve.predict(cost) ?? 0);
        const hadTime = waiting
          .slice(0, refuse)
          .filter(({ cost, deadline }) => cost <= largest && canBe(cost, deadline) && canBe(batch, deadline));
        expect(hadTime).toEqual([]);
      }),
      MANY,
    );
  });

  test('it makes nobody late who could be in time', () => {
    fc.assert(
      fc.property(situations, (given) => {
        // What is hardly known is tried, at somebody's cost; so what is asked of it is known.
        const { past, limits } = given;
        const few = {
          ...given,
          knowsCurve: true,
          costs: [1],
          past: { ...past, cost: 1, batches: past.batches % 8 },
        };
        const question = ask({
          ...few,
          length: given.length % 64,
          limits: { ...limits, slots: 1, isGrouped: false },
        });
        const { decision, waiting, curve, now } = question;
        if (decision.action === 'wait' || waiting.length > limits.maxBatchSize) return;
        // Between two known sizes that far apart, how long a batch takes is a line drawn through nothing.
        if (given.backend === 'worse past 8' || !isExact(question)) return;
        // Who could be in time by a hair could as well not: of him nothing is asked.
        if (!inTime(question, waiting, now, -HAIR_MS)) return;
        expect(decision.refuse ?? 0).toBe(0);
        const endsAt = now + (curve.predict(decision.count) as number);
        for (const { deadline } of waiting.slice(0, decision.count))
          expect(endsAt).toBeLessThanOrEqual(deadline + HAIR_MS);
        const rest = waiting.slice(decision.count);
        const allEndAt = endsAt + (curve.predict(rest.length) as number);
        for (const { deadline } of rest) expect(allEndAt).toBeLessThanOrEqual(deadline + HAIR_MS);
      }),
      { ...MANY, examples: [[LATE_BY_A_HAIR], [ONE_TOO_MANY]] },
    );
  });
});

describe('what was once wrong', () => {
  const straight = (cost: number) => 10 + cost;
  /** A curve that has seen these sizes, and one of them just now. */
  const knownTo = (sizes: readonly number[], durationMs = straight) => {
    const curve = new ServiceCurve(sizes.map((cost) => ({ cost, durationMs: durationMs(cost) })));
    curve.record(sizes[0] as number, durationMs(sizes[0] as number), 0);
    return curve;
  };

  // Root cause: the plan for two slots may say "wait for the other slot", and nobody looks whether the batch is full.
  test('with two slots, who makes a full batch is not kept waiting for the other slot', () => {
    const limits = { maxBatchSize: 8, slots: 2 };
    const past: Past = {
      gapsMs: [4],
      together: [1],
      cost: 1,
      sizes: [1, 8],
      batches: 60,
      durationMs: (cost) => 5 + cost / 10,
    };
    const { policy, curve, arrivals, ...known } = lived(adaptive(), past, limits);
    let { now } = known;
    for (let i = 0; i < 400; i++, now += 10) {
      policy.decide(shownView({ ...limits, waiting: [{ arrivedAt: now }], curve, arrivals }), now);
    }
    const running = [{ size: 1, cost: 1, startedAt: now - 5 }];
    const waiting = Array.from({ length: 8 }, () => ({ arrivedAt: now }));
    const decision = policy.decide(shownView({ ...limits, waiting, running, curve, arrivals }), now);
    expect(decision).toMatchObject({ action: 'dispatch', count: 8 });
  });

  // Root cause: the latest start is waited for even when it is nearer than a timer can be set.
  test('to save the backend, it waits for no shorter than timers are fine', () => {
    const waiting = [{ arrivedAt: -20, deadline: 13.5 }];
    const limits = { timerResolutionMs: 1, targetLatencyMs: 1000 };
    const view = shownView({ waiting, curve: knownTo([1, 8]), ...limits });
    expect(adaptive({ prefer: 'efficiency' }).decide(view, 0)).toMatchObject({ action: 'dispatch' });
  });

  // Root cause: only the head's deadline is compared with what all that waits would take.
  test('who is in a greater hurry than the head is not made late by all who wait behind it', () => {
    const waiting = [500, 15, 500, 500, 500, 500, 500, 500].map((deadline) => ({ arrivedAt: 0, deadline }));
    const decision = adaptive().decide(shownView({ waiting, curve: knownTo([1, 8]) }), 0);
    expect(decision).toMatchObject({ action: 'dispatch', refuse: 0 });
    expect(straight((decision as { count: number }).count)).toBeLessThanOrEqual(15);
  });

  // Root cause: where to stop is below the cost of the first item alone, so nobody is left for the batch after, and a
  // position is asked for that there is not.
  test('to save the backend, a lone item that costs more than where batches should stop is served', () => {
    const steps = (cost: number) => (cost <= 4 ? 6 : 20);
    const curve = knownTo([1, 2, 3, 4, 5, 6, 7, 8], steps);
    const limits = { maxBatchSize: 8, targetLatencyMs: 100 };
    const view = shownView({ waiting: [{ arrivedAt: 0, cost: 5 }], curve, ...limits });
    expect(() => adaptive({ prefer: 'efficiency' }).decide(view, 0)).not.toThrow();
  });

  // Root cause: of the runs that begin with the same item only the longest is considered, and that may be slower by far.
  test('who could be served by two quick batches is not made late by one that is slow', () => {
    const worsePastFour = (cost: number) => (cost <= 4 ? 5 : 5 + 6 * (cost - 4));
    const curve = knownTo([1, 2, 3, 4, 5, 6, 7, 8], worsePastFour);
    const waiting = Array.from({ length: 7 }, () => ({ arrivedAt: 0, deadline: 20 }));
    // Six in 17 ms leave the seventh behind; four in 5 ms, and three more in 5, do not.
    expect(adaptive().decide(shownView({ waiting, curve, maxBatchSize: 8 }), 0)).toMatchObject({ count: 4 });
  });

  // Root cause: of those left for the batch after, only the first one's deadline is looked at.
  test('to save the backend, it waits for no longer than those of the next batch have, whoever of them', () => {
    const steps = (cost: number) => (cost <= 4 ? 6 : 20);
    const curve = knownTo([1, 2, 3, 4, 5, 6, 7, 8], steps);
    const waiting = [500, 500, 500, 500, 500, 100].map((deadline) => ({ arrivedAt: 0, deadline }));
    const decision = adaptive({ prefer: 'efficiency' }).decide(
      shownView({ waiting, curve, maxBatchSize: 8, targetLatencyMs: 1000 }),
      0,
    );
    const { until = 0 } = decision as { until?: number };
    // Four and then two, or all six: the last one must have its answer by 100.
    expect(until + Math.min(steps(4) + steps(2), steps(6))).toBeLessThanOrEqual(100);
  });

  // Root cause: a batch may cost at most twice as much as any before; of an item that alone costs more,
  // this makes one that cannot be served.
  test('an item that costs more than twice any batch before it is served, not let go', () => {
    const waiting = [{ arrivedAt: 0, cost: 1000, deadline: 1e6 }];
    const view = shownView({ waiting, curve: knownTo([1, 10]), maxBatchSize: 10_000 });
    expect(adaptive().decide(view, 0)).toMatchObject({ action: 'dispatch', count: 1 });
  });

  // Root cause: one who cannot be served in time, but whose deadline is later than the end of the others'
  // small batch, must not be let go for them; so there is no run at all, and all are let go.
  test('a costly item that cannot be served in time takes nobody with it', () => {
    const waiting = [
      { arrivedAt: 0, cost: 8, deadline: 17 },
      { arrivedAt: 0, cost: 1, deadline: 1000 },
    ];
    const view = shownView({ waiting, curve: knownTo([1, 8]), maxBatchSize: 8 });
    expect(adaptive().decide(view, 0)).toMatchObject({ action: 'dispatch', count: 1, refuse: 1 });
  });

  // Root cause: a size that was hardly tried is tried without a look at those who stay behind.
  test('a size is not tried at the price of making those late who are left behind', () => {
    const past: Past = {
      gapsMs: [1],
      together: [1],
      cost: 1,
      sizes: [13],
      batches: 20,
      durationMs: () => 55,
    };
    const { policy, curve, arrivals, now } = lived(adaptive(), past);
    const waiting = Array.from({ length: 13 }, () => ({ arrivedAt: now, deadline: now + 100 }));
    const decision = policy.decide(shownView({ waiting, curve, arrivals }), now);
    expect(decision).not.toMatchObject({ action: 'dispatch', count: 8 });
  });

  test('items whose costs happen to add up to their number are cut by what they cost', () => {
    const steps = (cost: number) => (cost <= 4 ? 6 : 20);
    const curve = knownTo([1, 2, 3, 4, 5, 6, 7, 8], steps);
    const costs = [3, 0.5, 0.5, 0.5, 0.5];
    const waiting = costs.map((cost, i) => ({ arrivedAt: i < 3 ? 0 : 90, cost }));
    const view = shownView({ waiting, curve, maxBatchSize: 8, targetLatencyMs: 100 });
    // The first three cost 4 and must leave now; with a fourth they would be late.
    const decision = adaptive({ prefer: 'efficiency' }).decide(view, 93.9);
    expect(decision).toMatchObject({ action: 'dispatch', count: 3 });
  });
});
