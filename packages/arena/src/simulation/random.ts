/** Seeded random numbers: the same seed gives the same bits on every machine. */

/** Returns uniform numbers in [0, 1). */
export type Random = () => number;

/** One independent stream per purpose: an additional draw for one purpose does not change another. */
export function randomStream(seed: number, purpose: string): Random {
  let state = seed >>> 0;
  for (let i = 0; i < purpose.length; i++) state = mix(state ^ purpose.charCodeAt(i));
  let a = mix(state + 1);
  let b = mix(a + 1);
  let c = mix(b + 1);
  let count = 1;
  // sfc32 (Doty-Humphrey): 128 bits of state, passes PractRand.
  const next = (): number => {
    const sum = (a + b + count) | 0;
    count = (count + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < 12; i++) next();
  return next;
}

function mix(value: number): number {
  let bits = (value + 0x9e3779b9) | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad);
  bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
  return (bits ^ (bits >>> 15)) >>> 0;
}

/** An exponentially distributed number. */
export function exponential(random: Random, mean: number): number {
  return -mean * Math.log(1 - random());
}

/** A standard normal number (Box–Muller). */
export function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** A lognormal factor with mean 1; `sigma` is the standard deviation of its logarithm. */
export function lognormal(random: Random, sigma: number): number {
  return Math.exp(sigma * normal(random) - (sigma * sigma) / 2);
}
