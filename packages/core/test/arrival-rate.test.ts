import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ArrivalRate } from '../src/learning/arrival-rate.js';

/** A rate that has seen `count` items together every `gapMs`, so many times. */
function rateOf(count: number, gapMs: number, times: number): ArrivalRate {
  const rate = new ArrivalRate();
  for (let i = 0; i < times; i++) rate.record(count, i * gapMs);
  return rate;
}

describe('before the second arrival', () => {
  test('nothing is known', () => {
    const rate = new ArrivalRate();
    expect([rate.ratePerMs(0), rate.lastAt]).toEqual([0, Number.NEGATIVE_INFINITY]);
    rate.record(1, 100);
    expect([rate.ratePerMs(150), rate.lastAt]).toEqual([0, 100]);
  });
});

describe('a steady stream', () => {
  test.each([
    [1, 10],
    [1, 0.5],
    [1, 1000],
  ])('of %i every %d ms is measured exactly', (count, gapMs) => {
    const rate = rateOf(count, gapMs, 300);
    expect(rate.ratePerMs(rate.lastAt)).toBeCloseTo(1 / gapMs, 9);
  });

  test.each([
    [10, 10],
    [32, 5],
  ])('of %i together every %d ms is measured within a quarter', (count, gapMs) => {
    const rate = rateOf(count, gapMs, 300);
    const ratio = rate.ratePerMs(rate.lastAt + gapMs / 2) / (count / gapMs);
    expect(ratio).toBeGreaterThan(0.75);
    expect(ratio).toBeLessThan(1.25);
  });

  // Root cause: a burst as large as the memory outweighs all the gaps there ever were.
  test('of bursts larger than its memory is measured as a number', () => {
    const rate = rateOf(500, 10, 50);
    expect(rate.ratePerMs(rate.lastAt)).toBeGreaterThan(10);
    expect(rate.ratePerMs(rate.lastAt)).toBeLessThan(250);
  });

  test('with random gaps is measured within a third, most of the time', () => {
    let seed = 1;
    const random = () => {
      seed = (seed * 48271) % 2147483647;
      return seed / 2147483647;
    };
    let within = 0;
    for (let run = 0; run < 100; run++) {
      const rate = new ArrivalRate();
      let now = 0;
      for (let i = 0; i < 500; i++) {
        now += -4 * Math.log(random());
        rate.record(1, now);
      }
      const ratio = rate.ratePerMs(now) * 4;
      if (ratio > 0.67 && ratio < 1.5) within += 1;
    }
    expect(within).toBeGreaterThan(95);
  });
});

describe('a stream that changes', () => {
  test('is followed: after a few hundred arrivals the old rate is forgotten', () => {
    const rate = rateOf(1, 10, 500);
    for (let i = 1; i <= 600; i++) rate.record(1, 4990 + i);
    expect(rate.ratePerMs(rate.lastAt)).toBeGreaterThan(0.9);
    expect(rate.ratePerMs(rate.lastAt)).toBeLessThan(1.1);
  });

  test('and falls silent is expected to be slower the longer it is silent, down to nothing', () => {
    const rate = rateOf(1, 1, 500);
    let before = rate.ratePerMs(rate.lastAt);
    for (const silenceMs of [10, 100, 1000, 1e6]) {
      const now = rate.ratePerMs(rate.lastAt + silenceMs);
      expect(now).toBeLessThan(before);
      before = now;
    }
    expect(before).toBeLessThan(1e-3);
  });

  test('is not expected to be slower for a silence that is usual', () => {
    const rate = rateOf(1, 10, 200);
    expect(rate.ratePerMs(rate.lastAt + 9)).toBe(rate.ratePerMs(rate.lastAt));
  });
});

describe('a pause', () => {
  test('is not taken for traffic: after it, what comes as before is expected as before', () => {
    const rate = rateOf(1, 1, 500);
    const before = rate.ratePerMs(rate.lastAt);
    rate.record(1, rate.lastAt + 1e6);
    for (let i = 0; i < 20; i++) rate.record(1, rate.lastAt + 1);
    expect(rate.ratePerMs(rate.lastAt)).toBeGreaterThan(0.5 * before);
  });

  test('that is met before anything is known counts in full', () => {
    const rate = new ArrivalRate();
    for (const at of [0, 1000, 2000]) rate.record(1, at);
    expect(rate.ratePerMs(2000)).toBeCloseTo(1 / 1000, 9);
  });
});

test('a longer memory is steadier, and follows more slowly', () => {
  const [short, long] = [new ArrivalRate(16), new ArrivalRate(1024)];
  for (const rate of [short, long]) {
    for (let i = 0; i < 3000; i++) rate.record(1, i * 10);
    for (let i = 0; i < 30; i++) rate.record(1, rate.lastAt + 1);
  }
  expect(short.ratePerMs(short.lastAt)).toBeGreaterThan(0.4);
  expect(long.ratePerMs(long.lastAt)).toBeLessThan(0.15);
});

test('whatever arrives, the rate is a number above nought once there was a gap', () => {
  const arrival = fc.tuple(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 1000 }));
  fc.assert(
    fc.property(fc.array(arrival, { minLength: 2, maxLength: 50 }), (arrivals) => {
      const rate = new ArrivalRate();
      let now = 0;
      for (const [count, gapMs] of arrivals) {
        now += gapMs;
        rate.record(count, now);
      }
      expect(rate.lastAt).toBe(now);
      expect(rate.ratePerMs(now + 1)).toBeGreaterThan(0);
      expect(rate.ratePerMs(now + 1)).toBeLessThan(Number.POSITIVE_INFINITY);
    }),
  );
});
