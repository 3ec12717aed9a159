/**
 * Closed-form costs of queues beyond the end of a value table: time and cost until the queue is back within the table.
 * With them a finite table has no truncation error worth mentioning.
 */
import { type Curve, capacity } from '../simulation/curve.js';

/** Probability of a queue at the limit, about. */
const RARE = 1e-12;

export interface LongQueue {
  /** The longest queue of the table. */
  readonly limit: number;
  /** Cost of draining a long queue, divided by the square of its length. */
  readonly quadratic: number;
  /** Time until a queue that is `beyond` items above the limit is down to it. */
  msToLimit(beyond: number): number;
  /** The cost of that time, in item-milliseconds. */
  costToLimit(beyond: number): number;
}

/**
 * Beyond the limit every slot takes batches of the size b with the maximum throughput, one every `cycleMs`. The cost
 * until the queue is n shorter is then a quadratic polynomial in n. Its coefficients follow from
 * cost(n) = cost of a cycle + E cost(n - b + arrivals).
 */
export function longQueue(curve: Curve, slots: number, perMs: number): LongQueue {
  const { size, perMs: perSlot } = capacity(curve);
  const drainPerMs = slots * perSlot;
  if (!(perMs > 0)) throw new RangeError(`perMs must be above 0, not ${perMs}.`);
  if (perMs >= drainPerMs) {
    throw new RangeError(
      `Curve ${curve.name} in ${slots} slots has a maximum throughput of ${drainPerMs} items/ms, below ${perMs}.`,
    );
  }
  const decay = tailDecay(perMs / drainPerMs);
  const limit = 2 * curve.maxBatchSize + Math.ceil(-Math.log(RARE) / Math.log(decay));
  const durationMs = curve.durationMs(size);
  const cycleMs = durationMs / slots;
  const cycleArrivals = perMs * cycleMs;
  const cycleDrain = size - cycleArrivals;
  const quadratic = cycleMs / (2 * cycleDrain);
  // Items in service, arrivals during the cycle, and the variance of their number.
  const cycleCost =
    size * (durationMs - cycleMs) +
    (cycleArrivals * cycleMs) / 2 +
    quadratic * (cycleDrain ** 2 + cycleArrivals);
  const linear = 2 * quadratic * limit + cycleCost / cycleDrain;
  return {
    limit,
    quadratic,
    msToLimit: (beyond) => (beyond * cycleMs) / cycleDrain,
    costToLimit: (beyond) => linear * beyond + quadratic * beyond * beyond,
  };
}

/**
 * Asymptotic ratio of the probabilities of queue lengths n and n + 1 when all batches are full: the root above 1 of
 * ln z = rho (z - 1), for any batch size and number of slots.
 */
function tailDecay(rho: number): number {
  let low = 1 / rho; // the maximum of ln z - rho (z - 1): the root is above
  let high = 2 * low;
  while (Math.log(high) > rho * (high - 1)) high *= 2;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (Math.log(middle) > rho * (middle - 1)) low = middle;
    else high = middle;
  }
  return low;
}
