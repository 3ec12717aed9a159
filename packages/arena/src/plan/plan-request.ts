/** The input of a plan: backend, traffic and target, with validation and defaults. */

import { Place } from '../files/place.js';
import { validKeys, validMs, validMsAboveZero, validNumber, validOneOf, validWhole } from '../files/valid.js';
import type { Curve } from '../simulation/curve.js';
import type { PlanProgress } from './plan-progress.js';
import type { Prefer } from './plan-settings.js';
import { type Traffic, validTraffic } from './plan-traffic.js';

/** Upper limit of the search for slots. */
export const MAX_SLOTS = 64;
/** Share of all requests that must meet the target for a rate to be held. */
export const HOLDS_FROM = 0.99;
/** Above this noise a curve has no meaning. */
export const MAX_NOISE = 2;

export interface PlanRequest {
  /** Durations of batches, up to `maxBatchSize` of the curve. */
  readonly curve: Curve;
  readonly traffic: Traffic;
  /** Target for the total latency of a request. */
  readonly targetLatencyMs: number;
  /**
   * Batches that the backend runs concurrently without slowing each other down.
   * @default the fewest that hold the target, up to 64
   */
  readonly slots?: number | undefined;
  /**
   * Upper limit of the batch size.
   * @default that of the curve
   */
  readonly maxBatchSize?: number | undefined;
  /**
   * Noise of batch durations: the standard deviation of their logarithm.
   * @default 0
   */
  readonly noise?: number | undefined;
  /**
   * Low latency or low backend time.
   * @default 'latency'
   */
  readonly prefer?: Prefer | undefined;
  /** @default 1 */
  readonly seed?: number | undefined;
  /**
   * Timer resolution.
   * @default 1, as in Node
   */
  readonly timerMs?: number | undefined;
  /**
   * Requests per simulation of a rate. Too few do not show queues that grow slowly. A trace is simulated completely.
   * @default 10000 to 120000: enough for 1000 batches and for 40 times the target
   */
  readonly items?: number | undefined;
  readonly onProgress?: ((progress: PlanProgress) => void) | undefined;
}

/** A validated request with defaults. */
export interface Question {
  readonly curve: Curve;
  readonly traffic: Traffic;
  readonly targetLatencyMs: number;
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
  'targetLatencyMs',
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
    targetLatencyMs: validMsAboveZero(place.key('targetLatencyMs'), request.targetLatencyMs),
    slots: slots === undefined ? undefined : whole('slots', slots, MAX_SLOTS),
    noise: validNumber(place.key('noise'), noise, 0, MAX_NOISE),
    prefer: validOneOf(place.key('prefer'), prefer, ['latency', 'efficiency']),
    seed: whole('seed', seed, Number.MAX_SAFE_INTEGER, 0),
    timerMs: validMs(place.key('timerMs'), timerMs),
    items: items === undefined ? undefined : whole('items', items),
  };
}

/** The same curve with a smaller maximum batch size. */
export function cappedCurve(curve: Curve, maxBatchSize: number): Curve {
  return {
    name: curve.name,
    maxBatchSize,
    durationMs: (cost) => curve.durationMs(cost),
  };
}
