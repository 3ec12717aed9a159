/**
 * What is known of queues too long to be tabled: how rare they are, and what it takes to get back into
 * the table. With it a table can end where hardly any queue ever is without pretending that none is.
 */
import { type Curve, capacity } from '../simulation/curve.js';

/** Queues as long as the limit have about this share of time. */
const RARE = 1e-12;

export interface LongQueue {
  /** The longest queue to table. */
  readonly limit: number;
  /** What clearing a long queue costs, over the square of its length. */
  readonly bend: number;
  /** How long it takes until a queue that is so much longer is down to the limit. */
  msToLimit(beyond: number): number;
  /** And what that costs, in item-milliseconds. */
  costToLimit(beyond: number): number;
}

/**
 * Beyond the limit every slot takes batches of the quickest size b, one every `cycleMs`. The cost until
 * the queue is n shorter is then a parabola in n, whose coefficients follow from comparing those of
 * cost(n) = cost of a cycle + E cost(n - b + arrivals).
 */
export function longQueue(curve: Curve, slots: number, perMs: number): LongQueue {
  const { size, perMs: perSlot } = capacity(curve);
  const drainPerMs = slots * perSlot;
  if (!(perMs > 0)) throw new RangeError(`perMs must be above 0, not ${perMs}.`);
  if (perMs >= drainPerMs) {
    throw new RangeError(
      `Curve ${curve.name} in ${slots} slots can do ${drainPerMs} items/ms, not ${perMs}.`,
    );
  }
  const rarer = tailRatio(perMs / drainPerMs);
  const limit = 2 * curve.maxBatchSize + Math.ceil(-Math.log(RARE) / Math.log(rarer));
  const durationMs = curve.durationMs(size);
  const cycleMs = durationMs / slots;
  const cycleArrivals = perMs * cycleMs;
  const cycleDrain = size - cycleArrivals;
  const bend = cycleMs / (2 * cycleDrain);
  // Of a cycle: those served, those who come meanwhile, and the spread of their number.
  const cycleCost =
    size * (durationMs - cycleMs) + (cycleArrivals * cycleMs) / 2 + bend * (cycleDrain ** 2 + cycleArrivals);
  const slope = 2 * bend * limit + cycleCost / cycleDrain;
  return {
    limit,
    bend,
    msToLimit: (beyond) => (beyond * cycleMs) / cycleDrain,
    costToLimit: (beyond) => slope * beyond + bend * beyond * beyond,
  };
}

/**
 * By how much each longer queue is rarer, asymptotically, when full batches leave one after the other:
 * the root above 1 of ln z = rho (z - 1), whatever the batch size and the number of slots.
 */
function tailRatio(rho: number): number {
  let low = 1 / rho; // where ln z - rho (z - 1) is largest: the root lies beyond
  let high = 2 * low;
  while (Math.log(high) > rho * (high - 1)) high *= 2;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (Math.log(middle) > rho * (middle - 1)) low = middle;
    else high = middle;
  }
  return low;
}
