/** Seeded randomness: the same seed gives the same bits on every machine. */

/** Numbers from 0 up to, but not including, 1. */
export type Random = () => number;

/** A stream of its own for each purpose, so that one more draw here changes nothing there. */
export function randomStream(seed: number, purpose: string): Random {
  let state = seed >>> 0;
  for (let i = 0; i < purpose.length; i++) state = mix(state ^ purpose.charCodeAt(i));
  let a = mix(state + 1);
  let b = mix(a + 1);
  let c = mix(b + 1);
  let count = 1;
  // sfc32, a small fast chaotic generator: 128 bits of state, passes the usual batteries of tests.
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

/** A time until the next of events that know nothing of each other. */
export function exponential(random: Random, mean: number): number {
  return -mean * Math.log(1 - random());
}

/** Mean 0, standard deviation 1. */
export function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** A factor with mean 1 whose logarithm has standard deviation `sigma`. */
export function lognormal(random: Random, sigma: number): number {
  return Math.exp(sigma * normal(random) - (sigma * sigma) / 2);
}
