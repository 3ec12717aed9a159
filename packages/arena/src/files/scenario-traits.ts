/** Cost, group, priority and tenant of the items of a scenario file: drawn at random, or recorded in a trace. */

import type { Random } from '../simulation/random.js';
import type { Traits } from '../simulation/scenario.js';
import type { Place } from './place.js';
import { MAX_PRIORITY } from './trace-file.js';
import { type Fields, validFields, validKeys, validPositive, validWhole } from './valid.js';

/** A distribution of values; the mean is NaN for values that are not numbers. */
interface Mix<Value> {
  draw(random: Random): Value;
  readonly mean: number;
}

export interface TraitMixes {
  /** Undefined when all items are equal. */
  readonly traits: ((random: Random) => Traits) | undefined;
  readonly meanCost: number;
}

export const TRAIT_KEYS: readonly string[] = ['costs', 'groups', 'priorities', 'tenants'];
const MAX_CHOICES = 1000;

export function traitMixesAt(place: Place, fields: Fields, maxBatchSize: number): TraitMixes {
  const { costs, groups, priorities, tenants } = fields;
  const cost = costs === undefined ? undefined : costMix(place.key('costs'), costs, maxBatchSize);
  const group = groups === undefined ? undefined : namedMix(place.key('groups'), groups);
  const priority =
    priorities === undefined
      ? undefined
      : numberMix(place.key('priorities'), priorities, 'a whole number from -100 to 100', isPriority);
  const tenant = tenants === undefined ? undefined : namedMix(place.key('tenants'), tenants);
  const meanCost = cost?.mean ?? 1;
  if ([cost, group, priority, tenant].every((mix) => mix === undefined))
    return { traits: undefined, meanCost };
  // Always drawn in this order, so that the same seed gives the same items.
  const traits = (random: Random): Traits => ({
    ...(cost === undefined ? {} : { cost: cost.draw(random) }),
    ...(group === undefined ? {} : { group: group.draw(random) }),
    ...(priority === undefined ? {} : { priority: priority.draw(random) }),
    ...(tenant === undefined ? {} : { tenant: tenant.draw(random) }),
  });
  return { traits, meanCost };
}

/**
 * Recorded traits, one per item in order. Every run has its own random stream, which identifies the run here: each run
 * begins with the first item.
 */
export function recordedTraits(recorded: readonly Traits[]): (random: Random) => Traits {
  const given = new WeakMap<Random, number>();
  return (random) => {
    const next = given.get(random) ?? 0;
    given.set(random, next + 1);
    return recorded[next] ?? {};
  };
}

function costMix(place: Place, value: unknown, maxBatchSize: number): Mix<number> {
  if (validFields(place, value).kind === undefined) {
    const isCost = (cost: number) => cost > 0 && cost <= maxBatchSize;
    return numberMix(place, value, `a cost above 0, at most max_batch_size (${maxBatchSize})`, isCost);
  }
  const { kind, from, to } = validKeys(place, value, ['kind', 'from', 'to']);
  if (kind !== 'uniform') throw place.key('kind').expected('"uniform"', kind);
  const least = validWhole(place.key('from'), from, 1, maxBatchSize);
  const most = validWhole(place.key('to'), to, least, maxBatchSize);
  return {
    draw: (random) => least + Math.floor(random() * (most - least + 1)),
    mean: (least + most) / 2,
  };
}

function isPriority(priority: number): boolean {
  return Number.isInteger(priority) && Math.abs(priority) <= MAX_PRIORITY;
}

function numberMix(
  place: Place,
  value: unknown,
  what: string,
  isValid: (value: number) => boolean,
): Mix<number> {
  const weights = validWeights(place, value).map(([key, weight]): [number, number] => {
    const choice = /^-?\d+(?:\.\d+)?$/.test(key) ? Number(key) : Number.NaN;
    if (!isValid(choice)) throw place.expected(`${what} as key`, key);
    return [choice, weight];
  });
  return weighted(weights, (choice) => choice);
}

function namedMix(place: Place, value: unknown): Mix<string> {
  return weighted(validWeights(place, value), () => Number.NaN);
}

/** Weights need not add up to 1. */
function validWeights(place: Place, value: unknown): [string, number][] {
  const entries = Object.entries(validFields(place, value));
  if (entries.length === 0 || entries.length > MAX_CHOICES) {
    throw place.error(`expected 1 to ${MAX_CHOICES} values with their weights, got ${entries.length}.`);
  }
  return entries.map(([key, weight]) => [key, validPositive(place.key(key), weight, 1e9)]);
}

function weighted<Value>(
  weights: readonly (readonly [Value, number])[],
  numberOf: (value: Value) => number,
): Mix<Value> {
  const total = weights.reduce((sum, [, weight]) => sum + weight, 0);
  const [last] = weights[weights.length - 1] as readonly [Value, number];
  return {
    draw(random) {
      let left = random() * total;
      for (const [value, weight] of weights) {
        left -= weight;
        if (left < 0) return value;
      }
      return last;
    },
    mean: weights.reduce((sum, [value, weight]) => sum + numberOf(value) * weight, 0) / total,
  };
}
