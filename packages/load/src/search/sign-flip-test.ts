/**
 * Whether paired differences of several metrics are more than chance, all metrics together.
 *
 * Which target of a pair is played first is drawn by a coin. Without a difference between the targets, every
 * difference could therefore as well have had the other sign, whatever its distribution, its tails or the drift of the
 * machine. All ways to choose the signs (or many drawn ones) give the distribution of the largest |t| over all
 * metrics when there is no difference; its 95 % quantile is the critical value for every metric (Westfall and Young's
 * max-T). So at least one false difference is reported in at most 5 % of comparisons, over all metrics together, and
 * an interval excludes 0 exactly when its metric differs.
 */
import type { Random } from '@batchwise/arena';

export interface PairedInterval {
  readonly mean: number;
  /** Infinite ends where there are too few pairs to exclude anything. */
  readonly low: number;
  readonly high: number;
  readonly differs: boolean;
}

/** Of the whole comparison. */
const FALSE_POSITIVES = 0.05;
/** With 5 pairs, all signs equal has a chance of 1 in 16: nothing could ever be told. */
export const LEAST_PAIRS = 6;
/** All signs up to so many pairs, as many drawn ones beyond. */
const MOST_ENUMERATED_PAIRS = 12;
const DRAWN_FLIPS = 4096;
/** Sums of the same numbers in another order differ in their last digits. */
const ROUNDING = 1e-9;

/**
 * The intervals of the metrics, in their order.
 *
 * @param metrics the differences of every pair, for each metric.
 */
export function signFlipIntervals(metrics: readonly (readonly number[])[], random: Random): PairedInterval[] {
  const pairs = metrics[0]?.length ?? 0;
  // |sum| / √(sum of squares) rises with |t|, and flips leave its denominator as it is: quick, and finite always.
  const units = metrics.map((differences) => {
    const length = Math.sqrt(differences.reduce((sum, one) => sum + one * one, 0));
    return differences.map((one) => (length === 0 ? 0 : one / length));
  });
  const critical = pairs < LEAST_PAIRS ? Number.POSITIVE_INFINITY : criticalValue(units, pairs, random);
  const t = criticalT(critical, pairs);
  return metrics.map((differences, i) => {
    const mean = differences.reduce((sum, one) => sum + one, 0) / pairs;
    const squares = differences.reduce((sum, one) => sum + (one - mean) ** 2, 0);
    const error = Math.sqrt(squares / (pairs * (pairs - 1)));
    const half = squares === 0 && mean === 0 ? 0 : error === 0 && Number.isFinite(t) ? 0 : t * error;
    const statistic = Math.abs((units[i] as readonly number[]).reduce((sum, one) => sum + one, 0));
    const differs = statistic > critical + ROUNDING;
    // On the border, rounding must not put 0 outside of the interval.
    const [low, high] = differs
      ? [mean - half, mean + half]
      : [Math.min(0, mean - half), Math.max(0, mean + half)];
    return { mean, low, high, differs };
  });
}

/** The largest value of the statistic that is still reached by chance in more than 5 % of the flips. */
function criticalValue(units: readonly (readonly number[])[], pairs: number, random: Random): number {
  const largest: number[] = [];
  // A flip of all signs changes no |sum|: the first sign stays.
  const isEnumerated = pairs <= MOST_ENUMERATED_PAIRS;
  const flips = isEnumerated ? 2 ** (pairs - 1) : DRAWN_FLIPS;
  const signs = new Array<number>(pairs).fill(1);
  for (let flip = 0; flip < flips; flip++) {
    // The first flip is what was measured: it is one of the possible ones.
    if (flip > 0) {
      for (let pair = 1; pair < pairs; pair++) {
        const isFlipped = isEnumerated ? ((flip >> (pair - 1)) & 1) === 1 : random() < 0.5;
        signs[pair] = isFlipped ? -1 : 1;
      }
    }
    let most = 0;
    for (const unit of units) {
      let sum = 0;
      for (let pair = 0; pair < pairs; pair++) sum += (signs[pair] as number) * (unit[pair] as number);
      most = Math.max(most, Math.abs(sum));
    }
    largest.push(most);
  }
  largest.sort((a, b) => b - a);
  return largest[Math.floor(FALSE_POSITIVES * flips)] as number;
}

/** The t value that belongs to a value of |sum| / √(sum of squares), whose largest possible value is √pairs. */
function criticalT(critical: number, pairs: number): number {
  const rest = pairs - critical * critical;
  return rest > ROUNDING ? critical * Math.sqrt((pairs - 1) / rest) : Number.POSITIVE_INFINITY;
}
