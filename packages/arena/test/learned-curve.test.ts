/** The learned service curve of measured backends, from batches of realistic sizes and with noise. */
import { readFileSync } from 'node:fs';
import { ServiceCurve } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { parseCurve } from '../src/files/curve-file.js';
import { type Curve, formulaCurve } from '../src/simulation/curve.js';
import { lognormal, normal, type Random, randomStream } from '../src/simulation/random.js';

function stored(file: string): Curve[] {
  const curves = JSON.parse(readFileSync(new URL(`../curves/${file}`, import.meta.url), 'utf8'));
  return Object.entries(curves).map(([name, sizes]) => parseCurve(sizes, name));
}

const MEASURED = [...stored('h200.json'), ...stored('digits-cpu.json')];
const SHAPES: Curve[] = [
  formulaCurve('flat, then linear', 128, (b) => 12 + 0.1 * Math.max(0, b - 64)),
  formulaCurve('worse past 32', 64, (b) => (b <= 32 ? 2 + 0.1 * b : 5.2 + 0.6 * (b - 32))),
];

/** Realistic sizes: most around a drifting mean, sometimes a small or a full batch. */
function sizesOf(curve: Curve, random: Random, batches: number): number[] {
  const { maxBatchSize } = curve;
  let mean = maxBatchSize / 6;
  return Array.from({ length: batches }, () => {
    mean = Math.min(maxBatchSize / 2, Math.max(1.5, mean * Math.exp(0.15 * normal(random))));
    const size = random() < 0.05 ? (random() < 0.5 ? 1 : maxBatchSize) : mean * lognormal(random, 0.5);
    return Math.min(maxBatchSize, Math.max(1, Math.round(size)));
  });
}

interface Experience {
  readonly curve: ServiceCurve;
  /** Sizes weighted by their frequency. */
  readonly sizes: readonly number[];
}

function learned(truth: Curve, batches: number, noise: number, seed: number, outliers = 0): Experience {
  const random = randomStream(seed, 'batches');
  const curve = new ServiceCurve();
  const sizes = sizesOf(truth, random, batches);
  let now = 0;
  for (const [i, size] of sizes.entries()) {
    const isOutlier = i > 20 && random() < outliers;
    const durationMs = truth.durationMs(size) * lognormal(random, noise) * (isOutlier ? 8 : 1);
    now += durationMs;
    curve.record(size, durationMs, now);
  }
  return { curve, sizes };
}

/** Relative error of predictions, over the observed sizes: mean and 95th percentile. */
function errors({ curve, sizes }: Experience, truth: Curve, factor = 1) {
  const off = sizes
    .slice(-200)
    .map((size) => Math.abs((curve.mean(size) as number) / (factor * truth.durationMs(size)) - 1))
    .sort((a, b) => a - b);
  const mean = off.reduce((sum, one) => sum + one, 0) / off.length;
  return { mean, most: off[Math.floor(0.95 * off.length)] as number };
}

describe.each([...MEASURED, ...SHAPES])('$name', (truth) => {
  test.each([
    [0.05, 0.04, 0.1],
    [0.15, 0.1, 0.2],
    [0.3, 0.17, 0.4],
  ])(
    'with noise %d is learned after 400 batches within %d on average, and within %d for 95 % of the batches',
    (noise, mean, most) => {
      for (const seed of [1, 2, 3]) {
        const found = errors(learned(truth, 400, noise, seed), truth);
        expect(found.mean).toBeLessThan(mean);
        expect(found.most).toBeLessThan(most);
      }
    },
  );

  test('is learned with one batch in fifty eight times as long', () => {
    for (const seed of [1, 2]) {
      const found = errors(learned(truth, 600, 0.05, seed, 0.02), truth);
      expect(found.mean).toBeLessThan(0.12);
    }
  });

  test('is learned within 200 batches after it becomes twice as slow, and again after the recovery', () => {
    const random = randomStream(3, 'drift');
    const curve = new ServiceCurve();
    let now = 0;
    const play = (batches: number, factor: number): Experience => {
      const sizes = sizesOf(truth, random, batches);
      for (const size of sizes) {
        const durationMs = factor * truth.durationMs(size) * lognormal(random, 0.05);
        now += durationMs;
        curve.record(size, durationMs, now);
      }
      return { curve, sizes };
    };
    play(300, 1);
    expect(errors(play(200, 2), truth, 2).mean).toBeLessThan(0.15);
    expect(errors(play(300, 1), truth, 1).mean).toBeLessThan(0.15);
  });

  test('is learned at one size only, without extrapolation', () => {
    const random = randomStream(5, 'one size');
    const size = Math.ceil(truth.maxBatchSize / 2);
    const curve = new ServiceCurve();
    for (let i = 0; i < 200; i++) curve.record(size, truth.durationMs(size) * lognormal(random, 0.1), i);
    for (const cost of [1, size, truth.maxBatchSize]) {
      expect((curve.mean(cost) as number) / truth.durationMs(size)).toBeGreaterThan(0.9);
      expect((curve.mean(cost) as number) / truth.durationMs(size)).toBeLessThan(1.1);
    }
  });
});

// Root cause: the curve is monotone, so all larger sizes were pooled with the slow first batch until a batch of its
// exact size ran again.
test.each(MEASURED)(
  '$name is learned after a few batches if the first batch takes a hundred times as long',
  (truth) => {
    const random = randomStream(6, 'cold');
    const curve = new ServiceCurve();
    const sizes = sizesOf(truth, random, 60);
    for (const [i, size] of sizes.entries()) {
      curve.record(size, truth.durationMs(size) * (i === 0 ? 100 : 1), i);
    }
    expect(errors({ curve, sizes: sizes.slice(1) }, truth).mean).toBeLessThan(0.1);
  },
);

test('the size with the highest throughput is found where larger batches are worse', () => {
  const [, worse] = SHAPES as [Curve, Curve];
  const { curve } = learned(worse, 600, 0.05, 1);
  const best = curve.bestSize(64)?.cost as number;
  expect(best).toBeGreaterThan(20);
  expect(best).toBeLessThan(42);
});
