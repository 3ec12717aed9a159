/** Every option of a batcher, with its default, and the one place where they are checked. */

import { type Handler, type HandlerObject, validHandler } from '../batch/handler.js';
import {
  invalidOption,
  unknownKey,
  validBoolean,
  validCount,
  validCurve,
  validFunction,
  validMethods,
  validMs,
  validMsAboveZero,
  validObject,
  validPositive,
  validSizes,
  validString,
} from '../errors/valid.js';
import type { CurvePoint } from '../learning/service-curve.js';
import { adaptive } from '../policy/adaptive-policy.js';
import type { Limits, Policy } from '../policy/policy.js';
import { type Clock, realClock } from '../time/clock.js';

/** What can be changed while the batcher runs, by `configure()`. */
export interface LiveOptions<I> {
  /**
   * The most a batch may cost: items, unless `costOf` says otherwise. A limit, not a goal.
   * Infinity or -1 for unlimited.
   * @default 64
   */
  readonly maxBatchSize?: number | undefined;
  /**
   * The batch costs that the backend knows, rising: it pads a batch to the next of them, so that one
   * of 33 takes as long as one of 64. Batches are cut to these where that pays, and their durations
   * are learned for each. The handler finds the cost to pad to as `context.paddedCost`.
   * @default none: a batch takes as long as its own cost
   */
  readonly batchSizes?: readonly number[] | undefined;
  /**
   * The longest an item may wait while a slot is free, whatever the policy says.
   * @default Infinity
   */
  readonly maxWaitMs?: number | undefined;
  /**
   * Target for the total latency of an item. An item that cannot meet it is rejected at submit.
   * @default Infinity
   */
  readonly targetLatencyMs?: number | undefined;
  /**
   * Whether what cannot be answered by its deadline or the target is refused at the door. Without it
   * everybody waits until a batch is formed, when the policy knows better whom to let go: in bursts more
   * are answered in time, but those who are not hear so later.
   * @default true
   */
  readonly admission?: boolean | undefined;
  /**
   * The deadline of calls that name none of their own. When it passes, the caller is told at once.
   * @default Infinity
   */
  readonly timeoutMs?: number | undefined;
  /**
   * How many may wait; one more is refused. Infinity or -1 for unlimited.
   * @default Infinity
   */
  readonly maxQueueSize?: number | undefined;
  /**
   * How many batches may run at a time, 1 to Infinity.
   * @default 1
   */
  readonly concurrency?: number | undefined;
  /**
   * How long one call of the handler may take. Then its callers get `HANDLER_TIMEOUT`, its signal
   * fires and its slot is free again, whether or not the handler ever returns.
   * @default Infinity
   */
  readonly handlerTimeoutMs?: number | undefined;
  /**
   * What an item counts towards `maxBatchSize`: rows, tokens, bytes. A number above 0.
   * @default every item costs 1
   */
  readonly costOf?: ((item: I) => number) | undefined;
  /**
   * Items may share a batch when this gives the same value (compared as a Map compares keys).
   * @default all items are of one group
   */
  readonly groupOf?: ((item: I) => unknown) | undefined;
  /**
   * Items in flight for which this gives the same value are computed once, for all who asked.
   * `undefined` means: not to be shared.
   * @default nothing is shared
   */
  readonly dedupeBy?: ((item: I) => unknown) | undefined;
  /**
   * A batch that throws is taken apart and re-run, until only the guilty items fail. For handlers
   * that may see an item twice.
   * @default false
   */
  readonly isolate?: boolean | undefined;
  /**
   * Decides when a batch leaves and with how many.
   * @default adaptive()
   */
  readonly policy?: Policy | undefined;
}

export interface BatcherOptions<I> extends LiveOptions<I> {
  /**
   * Names the batcher in errors, statistics and diagnostics.
   * @default 'batcher'
   */
  readonly name?: string | undefined;
  /**
   * What is known beforehand of how long batches take, as `batchwise plan --probe` measures it. It is
   * where learning starts: nobody is refused or held for want of knowledge in the first second.
   * @default nothing: the first batches show it
   */
  readonly curve?: readonly CurvePoint[] | undefined;
  /**
   * How long an item must have waited to go before a newcomer one priority above it.
   * @default 1000
   */
  readonly priorityAgeMs?: number | undefined;
  /**
   * The clock. Tests pass a `VirtualClock`.
   * @default the real one
   */
  readonly clock?: Clock | undefined;
}

/** All options, checked and complete. Never changed, only replaced. */
export interface Settings<I, R> extends Limits {
  readonly handler: Handler<I, R>;
  readonly admission: boolean;
  readonly timeoutMs: number;
  readonly maxQueueSize: number;
  readonly concurrency: number;
  readonly handlerTimeoutMs: number;
  readonly costOf: ((item: I) => number) | undefined;
  readonly groupOf: ((item: I) => unknown) | undefined;
  readonly dedupeBy: ((item: I) => unknown) | undefined;
  readonly isolate: boolean;
  readonly policy: Policy;
  readonly name: string;
  readonly curve: readonly CurvePoint[];
  readonly priorityAgeMs: number;
  readonly clock: Clock;
}

const { POSITIVE_INFINITY } = Number;

const checks: { [Key in keyof Required<BatcherOptions<unknown>>]: (value: unknown) => unknown } = {
  maxBatchSize: (value) => validCount('maxBatchSize', value, { minusOne: true }),
  batchSizes: (value) => validSizes('batchSizes', value),
  maxWaitMs: (value) => validMs('maxWaitMs', value),
  targetLatencyMs: (value) => validMsAboveZero('targetLatencyMs', value),
  admission: (value) => validBoolean('admission', value),
  timeoutMs: (value) => validMsAboveZero('timeoutMs', value),
  maxQueueSize: (value) => validCount('maxQueueSize', value, { minusOne: true }),
  concurrency: (value) => validCount('concurrency', value),
  handlerTimeoutMs: (value) => validMsAboveZero('handlerTimeoutMs', value),
  costOf: (value) => validFunction('costOf', value),
  groupOf: (value) => validFunction('groupOf', value),
  dedupeBy: (value) => validFunction('dedupeBy', value),
  isolate: (value) => validBoolean('isolate', value),
  policy: (value) => validMethods('policy', value, ['decide']),
  name: (value) => validString('name', value),
  curve: (value) => validCurve('curve', value),
  priorityAgeMs: (value) => validPositive('priorityAgeMs', value),
  clock: (value) => validMethods('clock', value, ['now', 'setTimer', 'clearTimer', 'defer']),
};

export const OPTION_NAMES: readonly string[] = Object.keys(checks);
const FIXED = ['name', 'curve', 'priorityAgeMs', 'clock'];

export function newSettings<I, R>(
  handler: Handler<I, R> | HandlerObject<I, R>,
  options: BatcherOptions<I>,
): Settings<I, R> {
  const valid = validHandler(handler);
  const given = checked<I>('new Batcher(handler, options)', options);
  const settings = {
    handler: valid,
    maxBatchSize: 64,
    batchSizes: [],
    maxWaitMs: POSITIVE_INFINITY,
    targetLatencyMs: POSITIVE_INFINITY,
    admission: true,
    timeoutMs: POSITIVE_INFINITY,
    maxQueueSize: POSITIVE_INFINITY,
    concurrency: 1,
    handlerTimeoutMs: POSITIVE_INFINITY,
    costOf: undefined,
    groupOf: undefined,
    dedupeBy: undefined,
    isolate: false,
    policy: given.policy ?? adaptive(),
    name: 'batcher',
    curve: [],
    priorityAgeMs: 1000,
    clock: realClock,
    ...given,
  };
  return Object.freeze({ ...settings, timerResolutionMs: settings.clock.timerResolutionMs ?? 0 });
}

/** True when the settings look at no single item: it needs no more than a place in the line. */
export function asksNothingOfItems<I, R>(settings: Settings<I, R>): boolean {
  const { costOf, groupOf, dedupeBy, timeoutMs, targetLatencyMs, maxQueueSize } = settings;
  return (
    costOf === undefined &&
    groupOf === undefined &&
    dedupeBy === undefined &&
    Math.min(timeoutMs, targetLatencyMs, maxQueueSize) === POSITIVE_INFINITY
  );
}

export function changedSettings<I, R>(settings: Settings<I, R>, changes: LiveOptions<I>): Settings<I, R> {
  const valid = checked('configure(options)', changes);
  for (const key of FIXED) {
    if (key in valid) throw invalidOption(`configure(options): ${key} cannot be changed after construction.`);
  }
  return Object.freeze({ ...settings, ...valid });
}

/** The options that are given; `undefined` counts as not given. */
function checked<I>(where: string, options: BatcherOptions<I>): Partial<Settings<I, never>> {
  const valid: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(validObject(where, options))) {
    if (!Object.hasOwn(checks, key)) throw unknownKey(where, key, OPTION_NAMES);
    if (value !== undefined) valid[key] = checks[key as keyof typeof checks](value);
  }
  return valid as Partial<Settings<I, never>>;
}
