/** Seeded random numbers from 0 up to 1, and arrival times drawn with them. */
export type Random = () => number;

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The time until the next of independent events. */
export function exponential(random: Random, mean: number): number {
  return -mean * Math.log(1 - random());
}

/** Mean 0, standard deviation 1. */
export function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** The arrival times of a Poisson process. */
export function poissonTimes(random: Random, meanGapMs: number, count: number): number[] {
  let at = 0;
  return Array.from({ length: count }, () => {
    at += exponential(random, meanGapMs);
    return at;
  });
}

/** Bursts of `size` arrivals within `withinMs`, one burst each `gapMs`. */
export function burstTimes(
  random: Random,
  size: number,
  withinMs: number,
  gapMs: number,
  bursts: number,
): number[] {
  return Array.from({ length: bursts }, (_, burst) =>
    Array.from({ length: size }, () => burst * gapMs + withinMs * random()).sort((a, b) => a - b),
  ).flat();
}

/** Mean 1, with about this coefficient of variation. */
export function lognormal(random: Random, variation: number): number {
  return Math.exp(variation * normal(random) - variation ** 2 / 2);
}
