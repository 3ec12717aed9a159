/** What a dispatch plan is made for: a backend, and Poisson arrivals. */

export interface PlanProblem {
  /** 2 if there is another slot. */
  readonly slots: 1 | 2;
  readonly maxBatchSize: number;
  /** The cost that arrives per millisecond. */
  readonly ratePerMs: number;
  /** The batch sizes to consider besides all queued items, rising. */
  readonly sizes: readonly number[];
  /** The sizes among them above which throughput drops. */
  readonly steps: readonly number[];
  /** The size with the highest throughput. */
  readonly bestSize: number;
  durationMs(cost: number): number;
}

/** Steps after which the usual duration has converged, except close to full load. */
const FIXED_POINT_STEPS = 20;

/** The duration of the batches that such traffic makes, up to the best size. */
export function usualDuration({ slots, ratePerMs, bestSize, durationMs }: PlanProblem): number {
  let usualMs = durationMs(1);
  for (let i = 0; i < FIXED_POINT_STEPS; i++) {
    usualMs = durationMs(Math.min(bestSize, Math.max(1, (ratePerMs * usualMs) / slots)));
  }
  return usualMs;
}

/** The number of arrivals within some time as a few cases with their probabilities. */
export interface ArrivalOutcomes {
  readonly arrived: readonly number[];
  readonly chance: readonly number[];
}

/** Expected arrivals up to which every number is a case of its own. */
const FEW = 4;
/** The precision of plans: the probability of the cases that are left out, and the relative change of settled values. */
export const PRECISION = 1e-3;

/** The arrivals are Poisson distributed. */
export function arrivalOutcomes(mean: number): ArrivalOutcomes {
  return mean <= FEW ? eachNumber(mean) : threeCases(mean);
}

function eachNumber(mean: number): ArrivalOutcomes {
  const arrived: number[] = [];
  const chance: number[] = [];
  let one = Math.exp(-mean);
  let sum = 0;
  for (let number = 0; 1 - sum > PRECISION; number++) {
    arrived.push(number);
    chance.push(one);
    sum += one;
    one *= mean / (number + 1);
  }
  return { arrived, chance: chance.map((part) => part / sum) };
}

/** Three cases with the first moments of a normal distribution (Gauss-Hermite). */
function threeCases(mean: number): ArrivalOutcomes {
  const away = Math.sqrt(3 * mean);
  return { arrived: [mean - away, mean, mean + away], chance: [1 / 6, 2 / 3, 1 / 6] };
}
