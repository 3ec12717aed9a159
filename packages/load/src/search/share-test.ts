/**
 * Whether a share of requests is good often enough, from the counts of seconds: a sequential test.
 *
 * Misses come in clusters (a long queue makes many requests late), so requests are not independent and a binomial
 * test would be far too sure. The seconds are joined to at most ten batches that follow each other, and the excess of
 * misses in each batch over what is allowed is one observation: a t test on batch means. Its standard error is never
 * taken to be less than the binomial one, so that no misses in few requests are not proof. A probe is looked at up to
 * four times; each look tests at 0.05 / 4 (Bonferroni), so that a clear verdict is wrong in at most 5 % of probes
 * at a rate that is exactly on the border, and far less elsewhere.
 */

/** Requests that ended, or could not be sent, during a second; and those of them that were not good. */
export interface SecondCounts {
  readonly requests: number;
  readonly misses: number;
}

export interface ShareVerdict {
  /** By the counts as they are. */
  readonly meets: boolean;
  /** Whether chance is excluded. */
  readonly isClear: boolean;
  readonly requests: number;
  readonly misses: number;
}

/** How often a verdict may be asked for while counts grow. */
export const LOOKS = 4;
const MOST_BATCHES = 10;
/** Quantile 1 − 0.05 / (2 × 4) of the t distribution for 3 to 9 degrees of freedom; fewer are no test. */
const T_QUANTILES = [5.392, 4.315, 3.81, 3.521, 3.335, 3.206, 3.111] as const;
const LEAST_BATCHES = 4;

export function testShare(seconds: readonly SecondCounts[], share: number): ShareVerdict {
  const allowed = 1 - share;
  let requests = 0;
  let misses = 0;
  for (const second of seconds) {
    requests += second.requests;
    misses += second.misses;
  }
  const excess = misses - allowed * requests;
  const meets = requests > 0 && excess <= 0;
  const batches = excessOfBatches(seconds, allowed);
  const quantile = T_QUANTILES[batches.length - LEAST_BATCHES];
  if (quantile === undefined || requests === 0) return { meets, isClear: false, requests, misses };
  const mean = excess / batches.length;
  const squares = batches.reduce((sum, one) => sum + (one - mean) ** 2, 0);
  const batchVariance = (batches.length * squares) / (batches.length - 1);
  const binomialVariance = requests * allowed * share;
  const error = Math.sqrt(Math.max(batchVariance, binomialVariance));
  return { meets, isClear: Math.abs(excess) > quantile * error, requests, misses };
}

function excessOfBatches(seconds: readonly SecondCounts[], allowed: number): number[] {
  const batches = new Array<number>(Math.min(MOST_BATCHES, seconds.length)).fill(0);
  for (const [i, { requests, misses }] of seconds.entries()) {
    const batch = Math.floor((i * batches.length) / seconds.length);
    batches[batch] = (batches[batch] as number) + misses - allowed * requests;
  }
  return batches;
}
