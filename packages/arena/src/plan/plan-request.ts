/** What is asked of a plan: a backend, its traffic, a target; checked and completed in one place. */

import { Place } from '../files/place.js';
import { validKeys, validMs, validMsAboveZero, validNumber, validOneOf, validWhole } from '../files/valid.js';
import type { Curve } from '../simulation/curve.js';
import type { PlanProgress } from './plan-progress.js';
import type { Prefer } from './plan-settings.js';
import { type Traffic, validTraffic } from './plan-traffic.js';

/** The most slots that are searched. */
export const MOST_SLOTS = 64;
/** The share of all requests that must be answered within the target for a rate to count as held. */
export const HOLDS_FROM = 0.99;
/** Beyond this, durations differ so much that a curve says nothing. */
export const MOST_NOISE = 2;

export interface PlanRequest {
  /** How long the backend takes for a batch. Its `maxBatchSize` is the largest that may be used. */
  readonly curve: Curve;
  readonly traffic: Traffic;
  /** Target for the total latency of a request. */
  readonly targetMs: number;
  /**
   * How many batches the backend runs at a time without slowing each other down.
   * @default as few as hold the target, up to 64
   */
  readonly slots?: number | undefined;
  /**
   * The largest batch that may be used.
   * @default the largest of the curve
   */
  readonly maxBatchSize?: number | undefined;
  /**
   * The spread of batch durations: the standard deviation of their logarithm.
   * @default 0
   */
  readonly noise?: number | undefined;
  /**
   * Quick answers, or a backend that is spared.
   * @default 'latency'
   */
  readonly prefer?: Prefer | undefined;
  /** @default 1 */
  readonly seed?: number | undefined;
  /**
   * What timers are rounded up to.
   * @default 1, as Node's are
   */
  readonly timerMs?: number | undefined;
  /**
   * How many requests are sent in each simulation of a rate. Few are quick, and blind to queues that grow
   * slowly. A trace is simulated as it is.
   * @default 10000 to 120000: enough for 1000 batches and for 40 times the target
   */
  readonly items?: number | undefined;
  readonly onProgress?: ((progress: PlanProgress) => void) | undefined;
}

/** A request with nothing left open. */
export interface Question {
  readonly curve: Curve;
  readonly traffic: Traffic;
  readonly targetMs: number;
  readonly slots: number | undefined;
  readonly noise: number;
  readonly prefer: Prefer;
  readonly seed: number;
  readonly timerMs: number;
  readonly items: number | undefined;
}

const REQUEST_KEYS: readonly (keyof PlanRequest)[] = [
  'curve',
  'traffic',
  'targetMs',
  'slots',
  'maxBatchSize',
  'noise',
  'prefer',
  'seed',
  'timerMs',
  'items',
  'onProgress',
];

/** @throws {ArenaError} INVALID_PLAN */
export function validRequest(request: PlanRequest): Question {
  const place = new Place('INVALID_PLAN', 'plan');
  validKeys(place, request, REQUEST_KEYS);
  const { curve, traffic, slots, maxBatchSize, items } = request;
  const { noise = 0, prefer = 'latency', seed = 1, timerMs = 1 } = request;
  const whole = (name: string, value: number, most = Number.MAX_SAFE_INTEGER, least = 1) =>
    validWhole(place.key(name), value, least, most);
  const largest = maxBatchSize === undefined ? curve.maxBatchSize : whole('maxBatchSize', maxBatchSize);
  return {
    curve: cappedCurve(curve, Math.min(largest, curve.maxBatchSize)),
    traffic: validTraffic(place.key('traffic'), traffic),
    targetMs: validMsAboveZero(place.key('targetMs'), request.targetMs),
    slots: slots === undefined ? undefined : whole('slots', slots, MOST_SLOTS),
    noise: validNumber(place.key('noise'), noise, 0, MOST_NOISE),
    prefer: validOneOf(place.key('prefer'), prefer, ['latency', 'efficiency']),
    seed: whole('seed', seed, Number.MAX_SAFE_INTEGER, 0),
    timerMs: validMs(place.key('timerMs'), timerMs),
    items: items === undefined ? undefined : whole('items', items),
  };
}

/** The same backend, given smaller batches. */
export function cappedCurve(curve: Curve, maxBatchSize: number): Curve {
  return {
    name: curve.name,
    maxBatchSize,
    durationMs: (cost) => curve.durationMs(cost),
  };
}
