/** All options of a batcher with their defaults, and the only place where they are validated. */

import { type Backend, validBackends } from '../backends/backend.js';
import { BackendSet } from '../backends/backend-set.js';
import { type Handler, type HandlerObject, validHandler } from '../batch/handler.js';
import {
  expected,
  invalidOption,
  unknownKey,
  validBoolean,
  validCount,
  validFunction,
  validKeys,
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
import { type Clock, realClock, validClock } from '../time/clock.js';

/** Options that `configure()` can change. */
export interface LiveOptions<I> {
  /**
   * Maximum cost of a batch: its number of items, or the sum of `costOf`. A limit, not a goal.
   * Infinity or -1 for unlimited.
   * @default 64
   */
  readonly maxBatchSize?: number | undefined;
  /**
   * The batch costs that the backend is compiled for, in rising order. It pads a batch to the next of them, so that
   * a batch of 33 takes as long as one of 64. Batches are cut to these sizes where that is faster, and durations
   * are learned for each. The handler reads the cost to pad to from `context.paddedCost`.
   * @default none: batches are not padded
   */
  readonly batchSizes?: readonly number[] | undefined;
  /**
   * The maximum time that an item is held while a slot is free, whatever the policy decides.
   * @default Infinity
   */
  readonly maxWaitMs?: number | undefined;
  /**
   * Target for the total latency of an item. An item that cannot meet it is rejected at submit.
   * @default Infinity
   */
  readonly targetLatencyMs?: number | undefined;
  /**
   * Whether an item that cannot meet its deadline or the target is rejected at submit. Without admission
   * control all items are queued, and the policy rejects when it forms a batch: in bursts more items
   * are answered in time, but the others are rejected later.
   * @default true
   */
  readonly admission?: boolean | undefined;
  /**
   * The deadline of calls without `timeoutMs`. When it passes, the call is rejected at once.
   * @default Infinity
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Maximum number of queued items; further items are rejected. Infinity or -1 for unlimited.
   * @default Infinity
   */
  readonly maxQueueSize?: number | undefined;
  /**
   * Maximum number of batches that run at a time, 1 to Infinity.
   * @default 1, or with `backends` Infinity: as many as they have slots
   */
  readonly concurrency?: number | undefined;
  /**
   * Maximum duration of one call of the handler. After it, its callers get `HANDLER_TIMEOUT`, its signal
   * fires and its slot is free, whether or not the handler ever returns.
   * @default Infinity
   */
  readonly handlerTimeoutMs?: number | undefined;
  /**
   * The cost of an item, counted towards `maxBatchSize`: rows, tokens, bytes. A number above 0.
   * @default every item costs 1
   */
  readonly costOf?: ((item: I) => number) | undefined;
  /**
   * Items share a batch only if this returns the same value for them (compared as Map keys).
   * @default one group for all items
   */
  readonly groupOf?: ((item: I) => unknown) | undefined;
  /**
   * Items in flight for which this returns the same value are computed once, for all their callers.
   * `undefined`: the item is not shared.
   * @default no item is shared
   */
  readonly dedupeBy?: ((item: I) => unknown) | undefined;
  /**
   * A batch that throws is bisected and re-run, until only the faulty items fail. For handlers
   * that may execute an item twice.
   * @default false
   */
  readonly isolate?: boolean | undefined;
  /**
   * Decides when a batch is dispatched, and its size.
   * @default adaptive()
   */
  readonly policy?: Policy | undefined;
}

/** The options of a batcher that runs its batches on backends instead of a handler. */
export interface BackendOptions<I, R> extends BatcherOptions<I> {
  /**
   * Where batches run. Each goes to the backend with the earliest predicted completion. `concurrency`, if given,
   * limits all of them together. A `BackendSet` may be shared by several batchers: they share its slots.
   */
  readonly backends: readonly Backend<I, R>[] | BackendSet<I, R>;
  /**
   * Among batchers that share backends, a free slot goes to the one for which this is lowest; among equals, to the
   * one that has waited longest.
   * @default 0
   */
  readonly slotOrder?: (() => number) | undefined;
}

export interface BatcherOptions<I> extends LiveOptions<I> {
  /**
   * Names the batcher in errors, statistics and diagnostics.
   * @default 'batcher'
   */
  readonly name?: string | undefined;
  /**
   * Durations of batches that are known in advance, as `batchwise plan --probe` measures them. Learning starts
   * from them, so that policy and admission control work from the first item on.
   * @default none: durations are learned from the first batches on
   */
  readonly curve?: readonly CurvePoint[] | undefined;
  /**
   * An item that has waited this long goes before a new item one priority above it.
   * @default 1000
   */
  readonly priorityAgeMs?: number | undefined;
  /**
   * The clock. Tests pass a `VirtualClock`.
   * @default the real one
   */
  readonly clock?: Clock | undefined;
}

/** Settings that have no default. */
type Unset = 'slotOrder' | 'costOf' | 'groupOf' | 'dedupeBy';
type Complete<T> = { readonly [Key in keyof T]-?: Exclude<T[Key], undefined> };

/** All options, validated and complete. Immutable: `configure()` replaces the object. */
// biome-ignore lint/suspicious/noExplicitAny: the dispatcher passes items and results through and reads neither
export interface Settings<I = any, R = any>
  extends Limits,
    Complete<Omit<BackendOptions<I, R>, Unset | 'backends'>>,
    Pick<BackendOptions<I, R>, Unset> {
  /** Not called where there are backends. */
  readonly handler: Handler<I, R>;
  readonly backends: BackendSet<I, R> | undefined;
}

const { POSITIVE_INFINITY } = Number;

interface Option {
  readonly check: (name: string, value: unknown) => unknown;
  readonly default?: unknown;
  /** `configure()` cannot change it. */
  readonly isFixed?: true;
}

const countOrMinusOne: Option['check'] = (name, value) => validCount(name, value, { minusOne: true });

const OPTIONS: { readonly [Key in keyof Required<BackendOptions<unknown, unknown>>]: Option } = {
  maxBatchSize: { check: countOrMinusOne, default: 64 },
  batchSizes: { check: validSizes, default: [] },
  maxWaitMs: { check: validMs, default: POSITIVE_INFINITY },
  targetLatencyMs: { check: validMsAboveZero, default: POSITIVE_INFINITY },
  admission: { check: validBoolean, default: true },
  timeoutMs: { check: validMsAboveZero, default: POSITIVE_INFINITY },
  maxQueueSize: { check: countOrMinusOne, default: POSITIVE_INFINITY },
  concurrency: { check: validCount, default: 1 },
  handlerTimeoutMs: { check: validMsAboveZero, default: POSITIVE_INFINITY },
  costOf: { check: validFunction },
  groupOf: { check: validFunction },
  dedupeBy: { check: validFunction },
  isolate: { check: validBoolean, default: false },
  policy: { check: (name, value) => validMethods(name, value, ['decide']) },
  name: { check: validString, default: 'batcher', isFixed: true },
  curve: { check: validCurve, default: [], isFixed: true },
  priorityAgeMs: { check: validPositive, default: 1000, isFixed: true },
  clock: { check: validClock, default: realClock, isFixed: true },
  backends: {
    check: (_, value) => (value instanceof BackendSet ? value : validBackends(value)),
    isFixed: true,
  },
  slotOrder: { check: validFunction, isFixed: true },
};

export const OPTION_NAMES: readonly string[] = Object.keys(OPTIONS);
const DEFAULTS = Object.fromEntries(Object.entries(OPTIONS).map(([name, option]) => [name, option.default]));

export function newSettings<I, R>(
  handler: Handler<I, R> | HandlerObject<I, R> | BackendOptions<I, R>,
  options: BatcherOptions<I> | undefined,
): Settings<I, R> {
  if (isBackendOptions<I, R>(handler) && options === undefined) return backendSettings(handler);
  const valid = validHandler(handler as Handler<I, R>);
  const given = checked<I>('new Batcher(handler, options)', options === undefined ? {} : options);
  for (const key of ['backends', 'slotOrder']) {
    if (!(key in given)) continue;
    throw invalidOption(
      `new Batcher(handler, options): ${key} replace the handler: new Batcher({ ${key} }).`,
    );
  }
  return withDefaults(valid, given);
}

function isBackendOptions<I, R>(value: object): value is BackendOptions<I, R> {
  return typeof value === 'object' && value !== null && 'backends' in value && !('processBatch' in value);
}

function backendSettings<I, R>(options: BackendOptions<I, R>): Settings<I, R> {
  const { backends, ...given } = checked<I>('new Batcher({ backends })', options) as Partial<Settings<I, R>>;
  const { clock = realClock } = given;
  if (Array.isArray(backends) && backends.length === 0)
    throw invalidOption(
      'backends: expected at least one backend, or a BackendSet for backends that are added later.',
    );
  const set = backends instanceof BackendSet ? backends : new BackendSet<I, R>(backends, { clock });
  return withDefaults(notCalled, { concurrency: POSITIVE_INFINITY, ...given, backends: set });
}

function notCalled(): never {
  throw new Error('A batcher with backends has no handler.');
}

function withDefaults<I, R>(handler: Handler<I, R>, given: Partial<Settings<I, R>>): Settings<I, R> {
  const { policy = adaptive() } = given;
  const settings = { ...DEFAULTS, ...given, handler, policy } as Settings<I, R>;
  return Object.freeze({ ...settings, timerResolutionMs: settings.clock.timerResolutionMs ?? 0 });
}

/** True when no setting depends on the single item, so that submit can skip the checks. */
export function needsNoItemChecks(settings: Settings): boolean {
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
  for (const key of Object.keys(valid)) {
    if (OPTIONS[key as keyof typeof OPTIONS].isFixed)
      throw invalidOption(`configure(options): ${key} cannot be changed after construction.`);
  }
  return Object.freeze({ ...settings, ...valid });
}

/** The options that are given; `undefined` counts as not given. */
function checked<I>(where: string, options: BatcherOptions<I>): Partial<Settings<I, never>> {
  const valid: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(validObject(where, options))) {
    if (!Object.hasOwn(OPTIONS, key)) throw unknownKey(where, key, OPTION_NAMES);
    if (value !== undefined) valid[key] = OPTIONS[key as keyof typeof OPTIONS].check(key, value);
  }
  return valid as Partial<Settings<I, never>>;
}

/** Points of a service curve, by rising cost. */
function validCurve(name: string, value: unknown): readonly CurvePoint[] {
  if (!Array.isArray(value)) throw expected(name, 'a list of { cost, durationMs }', value);
  const points = value.map((point, i) => {
    const { cost, durationMs } = validKeys(`${name}[${i}]`, point, ['cost', 'durationMs']);
    return {
      cost: validPositive(`${name}[${i}].cost`, cost),
      durationMs: validPositive(`${name}[${i}].durationMs`, durationMs),
    };
  });
  if (points.length > 0)
    validSizes(
      `costs of ${name}`,
      points.map(({ cost }) => cost),
    );
  return points;
}
