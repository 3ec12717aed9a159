import { BatchwiseError, VirtualClock } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { parseCurve } from '../src/files/curve-file.js';
import { type Probe, type ProbeRequest, probe, probedCurve, probeJson } from '../src/plan/probe.js';
import { randomStream } from '../src/simulation/random.js';

/** Probes a handler with given durations, in virtual time. */
async function probed(
  durationMs: (size: number, call: number) => number,
  request: Partial<ProbeRequest<number>> = {},
): Promise<Probe & { readonly sizes: number[] }> {
  const clock = new VirtualClock();
  const sizes: number[] = [];
  const result = probe({
    handler: (items: number[]) => {
      sizes.push(items.length);
      return new Promise<number[]>((resolve) => {
        clock.setTimer(() => resolve(items), durationMs(items.length, sizes.length));
      });
    },
    makeItem: (index: number) => index,
    clock,
    ...request,
  });
  result.catch(() => {});
  await clock.advance(1_000_000);
  return { ...(await result), sizes };
}

test('measures 1, 2, 4 and so on, and the largest', async () => {
  const { points, noise } = await probed((size) => 5 + 0.1 * size, { maxBatchSize: 48 });
  expect(points.map(({ size }) => size)).toEqual([1, 2, 4, 8, 16, 32, 48]);
  for (const { size, p10Ms, p50Ms, p90Ms } of points) {
    for (const ms of [p10Ms, p50Ms, p90Ms]) expect(ms).toBeCloseTo(5 + 0.1 * size, 6);
  }
  expect(noise).toBeCloseTo(0, 6);
});

test('makes one item per position, and dispatches whole batches', async () => {
  const batches: number[][] = [];
  await probe({
    handler: (items: number[]) => {
      batches.push(items);
      return items;
    },
    makeItem: async (index: number) => index,
    maxBatchSize: 4,
    timeLimitMs: 5,
  });
  expect(batches.slice(0, 3)).toEqual([[0], [1, 2], [3, 4, 5, 6]]);
});

test('after the warm-up the sizes alternate upwards and downwards', async () => {
  const { sizes, rounds } = await probed(() => 10, { maxBatchSize: 4, timeLimitMs: 10_000 });
  const measured = sizes.slice(-3 * rounds);
  expect(measured.slice(0, 6)).toEqual([1, 2, 4, 4, 2, 1]);
  expect(rounds).toBe(100);
});

test('the warm-up lasts until calls no longer become faster', async () => {
  // Each call is faster than the one before, until the tenth.
  const { points, sizes, rounds } = await probed((_size, call) => 10 + Math.max(0, 200 - 20 * call), {
    maxBatchSize: 2,
  });
  expect(sizes.length - 2 * rounds).toBeGreaterThanOrEqual(10);
  for (const { p90Ms } of points) expect(p90Ms).toBe(10);
});

test('a slow handler is measured for a limited time', async () => {
  const { rounds, tookMs } = await probed((size) => 100 * size, { maxBatchSize: 8, timeLimitMs: 3000 });
  expect(rounds).toBeGreaterThanOrEqual(5);
  expect(tookMs).toBeLessThan(3 * 3000 + 1500);
});

test('a very slow handler is measured once', async () => {
  const { rounds, points } = await probed(() => 20_000, { maxBatchSize: 4, timeLimitMs: 3000 });
  expect(rounds).toBe(1);
  expect(points.map(({ p50Ms }) => p50Ms)).toEqual([20_000, 20_000, 20_000]);
});

test('sizes far beyond the target are not measured', async () => {
  const { points, leftOutFrom } = await probed((size) => 10 * size, { longestMs: 100 });
  expect(points.map(({ size }) => size)).toEqual([1, 2, 4, 8, 16]);
  expect(leftOutFrom).toBe(32);
});

test('one slow first call does not exclude a size', async () => {
  const { leftOutFrom } = await probed((_size, call) => (call === 1 ? 500 : 10), { longestMs: 100 });
  expect(leftOutFrom).toBeUndefined();
});

test('the noise of the handler is measured', async () => {
  const random = randomStream(1, 'probe');
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const { noise, points } = await probed((size) => (5 + size) * Math.exp(0.1 * normal()), {
    timeLimitMs: 1e6,
    maxBatchSize: 16,
  });
  expect(noise).toBeGreaterThan(0.07);
  expect(noise).toBeLessThan(0.13);
  for (const { p10Ms, p50Ms, p90Ms } of points)
    expect([p10Ms, p50Ms, p90Ms]).toEqual([p10Ms, p50Ms, p90Ms].sort((a, b) => a - b));
});

test('the saved curve can be parsed', async () => {
  const result = await probed((size) => 5 + 0.1 * size, { maxBatchSize: 32 });
  const stored = JSON.parse(JSON.stringify(probeJson(result)));
  const curve = parseCurve(stored, 'stored');
  expect(curve.maxBatchSize).toBe(32);
  for (const size of [1, 3, 16, 32]) {
    expect(curve.durationMs(size)).toBeCloseTo(probedCurve('probed', result).durationMs(size), 4);
    expect(curve.durationMs(size)).toBeCloseTo(5 + 0.1 * size, 4);
  }
});

test('progress never exceeds 1', async () => {
  const shares: number[] = [];
  await probed(() => 200, { timeLimitMs: 1000, onProgress: ({ share }) => shares.push(share) });
  expect(shares.length).toBeGreaterThan(10);
  expect(shares).toEqual([...shares].sort((a, b) => a - b));
  expect(shares.at(-1)).toBe(1);
});

describe('an error of the handler is reported', () => {
  test.each<[string, () => unknown, string]>([
    [
      'it throws',
      () => {
        throw new Error('out of memory');
      },
      'HANDLER_FAILED',
    ],
    ['too few results', () => [], 'BAD_RESULT'],
    ['an error for an item', () => [new BatchwiseError('INVALID_ITEM', 'not this one')], 'INVALID_ITEM'],
  ])('%s', async (_what, handler, code) => {
    const request = { handler: handler as () => never[], makeItem: () => 1 };
    await expect(probe(request)).rejects.toMatchObject({ code });
  });

  test('the handler never settles', async () => {
    const never = () => Number.POSITIVE_INFINITY;
    await expect(probed(never, { callTimeoutMs: 1000 })).rejects.toMatchObject({ code: 'HANDLER_TIMEOUT' });
  });
});
