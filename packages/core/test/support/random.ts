/** Numbers from 0 up to 1 that are the same in every run, and what traffic is made of from them. */
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

/** The time until the next of events that know nothing of each other. */
export function exponential(random: Random, mean: number): number {
  return -mean * Math.log(1 - random());
}

/** Mean 0, standard deviation 1. */
export function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** So many times, each later than the one before by something random with this mean. */
export function poissonTimes(random: Random, meanGapMs: number, count: number): number[] {
  let at = 0;
  return Array.from({ length: count }, () => {
    at += exponential(random, meanGapMs);
    return at;
  });
}

/** `size` at a time within `withinMs`, the bursts `gapMs` apart. */
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

/** Mean 1, with this coefficient of variation, about. */
export function lognormal(random: Random, variation: number): number {
  return Math.exp(variation * normal(random) - variation ** 2 / 2);
}
