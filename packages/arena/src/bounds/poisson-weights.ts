/** A Poisson distribution, truncated to the numbers that are not negligible. */
export interface PoissonWeights {
  /** The number of arrivals of the first weight. */
  readonly first: number;
  readonly weights: Float64Array;
}

/** Weights below this share of the largest are omitted: their sum is below rounding errors. */
const NEGLIGIBLE = 1e-15;

export function poissonWeights(mean: number, negligible = NEGLIGIBLE): PoissonWeights {
  if (mean === 0) return { first: 0, weights: Float64Array.of(1) };
  // From the mode outwards, so that e^-mean cannot underflow.
  const mode = Math.floor(mean);
  const below: number[] = [];
  for (let k = mode, weight = 1; k > 0; k--) {
    weight *= k / mean;
    if (weight < negligible) break;
    below.push(weight);
  }
  const above: number[] = [1];
  for (let k = mode + 1, weight = 1; ; k++) {
    weight *= mean / k;
    if (weight < negligible) break;
    above.push(weight);
  }
  const weights = Float64Array.from([...below.reverse(), ...above]);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return { first: mode - below.length, weights: weights.map((weight) => weight / sum) };
}
