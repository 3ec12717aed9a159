/** Random scripts of operations, which `scenario.ts` runs. */
import { adaptive, type CurvePoint, greedy, type Policy, type SubmitOptions, window } from 'batchwise';
import fc from 'fast-check';

const { POSITIVE_INFINITY } = Number;

export type Answer = 'results' | 'ownErrors' | 'tooFew' | 'tooMany' | 'nothing' | 'promises' | 'throw';

const POLICIES = [
  'adaptive',
  'efficiency',
  'greedy',
  'window',
  'never',
  'reading',
  'rejecting',
  'throwing',
  'invalid',
] as const;

export interface CallSpec {
  readonly cost: number;
  readonly group: number;
  readonly key: number;
  /** `signal` is the number of one of a few shared signals. */
  readonly options: Omit<SubmitOptions, 'signal'> & { readonly signal?: number | undefined };
}

export interface Limits {
  readonly maxBatchSize?: number;
  readonly maxWaitMs?: number;
  readonly targetLatencyMs?: number;
  readonly timeoutMs?: number;
  readonly maxQueueSize?: number;
  readonly concurrency?: number;
  readonly handlerTimeoutMs?: number;
  readonly isolate?: boolean;
  readonly admission?: boolean;
  readonly batchSizes?: readonly number[];
  readonly policy?: (typeof POLICIES)[number];
}

export interface Setup {
  readonly limits: Required<Limits>;
  readonly grouped: boolean;
  readonly deduped: boolean;
  /** The option `curve` of the batcher. */
  readonly curve?: readonly CurvePoint[];
  /** The answer to each call of the handler, in rotation: at once, or by a later step of the script. */
  readonly answersAtOnce: readonly (Answer | 'wait')[];
}

export type Step =
  | { readonly do: 'submit' | 'enqueue'; readonly call: CallSpec }
  | { readonly do: 'submitMany'; readonly calls: readonly CallSpec[] }
  | { readonly do: 'cancel' | 'abort'; readonly which: number }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'answer'; readonly which: number; readonly answer: Answer }
  | { readonly do: 'configure'; readonly limits: Limits }
  | { readonly do: 'flush' | 'destroy' }
  | { readonly do: 'close'; readonly timeoutMs: number };

const answer: fc.Arbitrary<Answer> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Answer>('results') },
  { weight: 2, arbitrary: fc.constant<Answer>('throw') },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Answer>('ownErrors', 'tooFew', 'tooMany', 'nothing', 'promises'),
  },
);

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

export const call: fc.Arbitrary<CallSpec> = fc.record({
  cost: fc.integer({ min: 1, max: 6 }),
  group: fc.integer({ min: 0, max: 2 }),
  key: fc.integer({ min: 0, max: 3 }),
  options: fc.record({
    timeoutMs: maybe(fc.constantFrom(0, 1, 5, 20, 100, POSITIVE_INFINITY)),
    priority: maybe(fc.integer({ min: -1, max: 2 })),
    tenant: maybe(fc.constantFrom('acme', 'umbrella')),
    weight: maybe(fc.constantFrom(0.5, 1, 3)),
    signal: maybe(fc.integer({ min: 0, max: 2 })),
  }),
});

const limits = {
  maxBatchSize: fc.constantFrom(1, 4, 6, 8, POSITIVE_INFINITY),
  maxWaitMs: fc.constantFrom(0, 3, 10, POSITIVE_INFINITY),
  targetLatencyMs: fc.constantFrom(5, 30, POSITIVE_INFINITY, POSITIVE_INFINITY),
  timeoutMs: fc.constantFrom(5, 40, POSITIVE_INFINITY, POSITIVE_INFINITY),
  maxQueueSize: fc.constantFrom(1, 3, 8, POSITIVE_INFINITY),
  concurrency: fc.constantFrom(1, 2, 3, POSITIVE_INFINITY),
  handlerTimeoutMs: fc.constantFrom(4, 25, POSITIVE_INFINITY, POSITIVE_INFINITY),
  isolate: fc.boolean(),
  admission: fc.boolean(),
  batchSizes: fc.constantFrom([1, 2, 3, 4, 5, 6], [4, 6, 8]),
  policy: fc.constantFrom(...POLICIES),
};

export const setup: fc.Arbitrary<Setup> = fc.record({
  limits: fc.record(limits),
  grouped: fc.boolean(),
  deduped: fc.boolean(),
  answersAtOnce: fc.array(fc.oneof({ weight: 3, arbitrary: fc.constant('wait' as const) }, answer), {
    minLength: 1,
    maxLength: 4,
  }),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ do: fc.constantFrom('submit', 'enqueue'), call }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('submitMany'), calls: fc.array(call, { maxLength: 5 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel'), which: fc.nat(50) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('abort'), which: fc.nat(2) }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('advance'), ms: fc.constantFrom(0, 1, 4, 10, 50) }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('answer'), which: fc.nat(5), answer }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('configure'), limits: fc.record(limits, { requiredKeys: [] }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('flush') }) },
);

const ending: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('close'), timeoutMs: fc.constantFrom(0, 5, 50, POSITIVE_INFINITY) }),
  fc.record({ do: fc.constant('destroy') }),
);

/** Up to 40 steps, then perhaps close() or destroy(), and steps after it. */
export const script: fc.Arbitrary<Step[]> = fc
  .tuple(
    fc.array(step, { maxLength: 40, size: 'max' }),
    fc.array(ending, { maxLength: 1 }),
    fc.array(fc.oneof({ weight: 4, arbitrary: step }, ending), { maxLength: 10, size: 'max' }),
  )
  .map(([before, end, after]) => [...before, ...end, ...after]);

export function policyNamed(name: (typeof POLICIES)[number]): Policy {
  switch (name) {
    case 'adaptive':
      return adaptive();
    case 'efficiency':
      return adaptive({ prefer: 'efficiency' });
    case 'greedy':
      return greedy();
    case 'window':
      return window({ maxWaitMs: 5 });
    case 'never':
      return { name, decide: () => ({ action: 'wait', until: POSITIVE_INFINITY }) };
    case 'reading':
      // Reads far into the queue and dispatches a part of it.
      return {
        name,
        decide: (view, now) => {
          const last = view.length - 1;
          const isUrgent = view.deadlineAt(last) - now < 10 || view.arrivedAt(last >> 1) < now - 2;
          if (isUrgent || view.costAt(0) > 3)
            return { action: 'dispatch', count: 1 + (last >> 1), reason: 'deadline' };
          return { action: 'wait', until: now + 3 };
        },
      };
    case 'rejecting':
      return {
        name,
        decide: (view, now) =>
          view.length > 3
            ? { action: 'reject', positions: [0, view.length - 1] }
            : view.length > 1
              ? { action: 'dispatch', count: 2, reason: 'deadline' }
              : now % 2 === 0
                ? { action: 'wait', until: now + 2 }
                : { action: 'reject', positions: [0] },
      };
    case 'throwing':
      return {
        name,
        decide: () => {
          throw new Error('the policy failed');
        },
      };
    case 'invalid':
      return { name, decide: () => ({ action: 'dispatch', count: Number.NaN, reason: 'idle' }) };
  }
}
