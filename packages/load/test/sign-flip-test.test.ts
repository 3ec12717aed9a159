/** False positives over all metrics together, with heavy tails and drift; and how small a difference is found. */
import { randomStream } from '@batchwise/arena';
import { describe, expect, test } from 'vitest';
import { signFlipIntervals } from '../src/search/sign-flip-test.js';

const PAIRS = 10;
const REQUESTS = 100;

/** Mean, p50, p99 of a block: lognormal latencies of sigma 1 on a machine that becomes slower by half, with stalls. */
function block(random: () => number, at: number, factor: number): number[] {
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const drift = 1 + at / (4 * PAIRS) + 0.1 * Math.exp(normal());
  const latencies = Float64Array.from(
    { length: REQUESTS },
    () => factor * drift * 10 * Math.exp(normal()),
  ).sort();
  const late = latencies.filter((ms) => ms > 100).length;
  return [
    latencies.reduce((sum, ms) => sum + ms, 0) / REQUESTS,
    latencies[REQUESTS / 2] as number,
    latencies[0.99 * REQUESTS] as number,
    1 - late / REQUESTS,
    late / REQUESTS / 3,
  ];
}

function comparison(seed: number, factor: number): ReturnType<typeof signFlipIntervals> {
  const random = randomStream(seed, 'machine');
  const coin = randomStream(seed, 'order');
  const differences: number[][] = [[], [], [], [], []];
  for (let pair = 0; pair < PAIRS; pair++) {
    const isAFirst = coin() < 0.5;
    const a = block(random, 2 * pair + (isAFirst ? 0 : 1), 1);
    const b = block(random, 2 * pair + (isAFirst ? 1 : 0), factor);
    for (const [i, values] of differences.entries()) values.push((b[i] as number) - (a[i] as number));
  }
  return signFlipIntervals(differences, randomStream(seed, 'flips'));
}

describe('paired differences', () => {
  test('of equal targets differ in at most 5 % of comparisons, over all metrics together', () => {
    const repetitions = 400;
    let positives = 0;
    for (let seed = 1; seed <= repetitions; seed++) {
      if (comparison(seed, 1).some(({ differs }) => differs)) positives++;
    }
    // 20 are expected; four standard deviations more would be a test that is wrong. None at all would be, too.
    expect(positives).toBeLessThanOrEqual(20 + 4 * Math.sqrt(19));
    expect(positives).toBeGreaterThan(2);
  });

  test('of targets that differ by half are found, with the interval on the right side', () => {
    let found = 0;
    for (let seed = 1; seed <= 20; seed++) {
      const [, p50] = comparison(seed, 1.5);
      if (p50?.differs && p50.low > 0 && p50.high > p50.mean) found++;
    }
    expect(found).toBeGreaterThanOrEqual(17);
  });

  test('an interval excludes 0 exactly when its metric differs', () => {
    for (let seed = 1; seed <= 60; seed++) {
      for (const { low, high, differs } of comparison(seed, 1 + (seed % 5) / 20)) {
        expect(low > 0 || high < 0).toBe(differs);
      }
    }
  });

  test('the same difference in every pair differs; none in any pair does not', () => {
    const [same, none] = signFlipIntervals([Array(8).fill(0.25), Array(8).fill(0)], randomStream(1, 'flips'));
    expect(same).toEqual({ mean: 0.25, low: 0.25, high: 0.25, differs: true });
    expect(none).toEqual({ mean: 0, low: 0, high: 0, differs: false });
  });

  test('too few pairs exclude nothing', () => {
    const [few] = signFlipIntervals([[1, 1.1, 0.9, 1, 1]], randomStream(1, 'flips'));
    expect(few).toMatchObject({
      low: Number.NEGATIVE_INFINITY,
      high: Number.POSITIVE_INFINITY,
      differs: false,
    });
  });

  test('beyond 12 pairs, signs are drawn, and the same seed gives the same intervals', () => {
    const random = randomStream(3, 'values');
    const differences = Array.from({ length: 30 }, () => random() - 0.3);
    const intervals = () => signFlipIntervals([differences], randomStream(1, 'flips'));
    expect(intervals()).toEqual(intervals());
    expect(intervals()[0]?.differs).toBe(true);
  });
});
