import { Batcher, type BatcherOptions, type Policy, VirtualClock } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Traffic } from '../src/learning/traffic.js';
import { gated } from './support/gate.js';
import { normal, seeded } from './support/random.js';

/** Traffic of `count` items together every `gapMs`, `times` times. */
function trafficOf(count: number, gapMs: number, times: number): Traffic {
  const traffic = new Traffic();
  for (let i = 0; i < times; i++) traffic.arrived(count, i * gapMs);
  return traffic;
}

describe('before the second arrival', () => {
  test('the rate is 0', () => {
    const traffic = new Traffic();
    expect([traffic.ratePerMs(0), traffic.lastAt]).toEqual([0, Number.NEGATIVE_INFINITY]);
    traffic.arrived(1, 100);
    expect([traffic.ratePerMs(150), traffic.lastAt]).toEqual([0, 100]);
  });
});

describe('a steady stream', () => {
  test.each([
    [1, 10],
    [1, 0.5],
    [1, 1000],
  ])('of %i item every %d ms has its exact rate', (count, gapMs) => {
    const traffic = trafficOf(count, gapMs, 300);
    expect(traffic.ratePerMs(traffic.lastAt)).toBeCloseTo(1 / gapMs, 9);
  });

  test.each([
    [10, 10],
    [32, 5],
  ])('of %i items together every %d ms has its rate within a quarter', (count, gapMs) => {
    const traffic = trafficOf(count, gapMs, 300);
    const ratio = traffic.ratePerMs(traffic.lastAt + gapMs / 2) / (count / gapMs);
    expect(ratio).toBeGreaterThan(0.75);
    expect(ratio).toBeLessThan(1.25);
  });

  // Root cause: a burst as large as the memory outweighed all gaps before it.
  test('of bursts larger than the memory has a finite rate', () => {
    const traffic = trafficOf(500, 10, 50);
    expect(traffic.ratePerMs(traffic.lastAt)).toBeGreaterThan(10);
    expect(traffic.ratePerMs(traffic.lastAt)).toBeLessThan(250);
  });

  test('with random gaps has its rate within a third, most of the time', () => {
    let seed = 1;
    const random = () => {
      seed = (seed * 48271) % 2147483647;
      return seed / 2147483647;
    };
    let within = 0;
    for (let run = 0; run < 100; run++) {
      const traffic = new Traffic();
      let now = 0;
      for (let i = 0; i < 500; i++) {
        now += -4 * Math.log(random());
        traffic.arrived(1, now);
      }
      const ratio = traffic.ratePerMs(now) * 4;
      if (ratio > 0.67 && ratio < 1.5) within += 1;
    }
    expect(within).toBeGreaterThan(95);
  });
});

describe('a stream that changes', () => {
  test('is followed within a few hundred arrivals', () => {
    const traffic = trafficOf(1, 10, 500);
    for (let i = 1; i <= 600; i++) traffic.arrived(1, 4990 + i);
    expect(traffic.ratePerMs(traffic.lastAt)).toBeGreaterThan(0.9);
    expect(traffic.ratePerMs(traffic.lastAt)).toBeLessThan(1.1);
  });

  test('and falls silent has a rate that falls towards 0', () => {
    const traffic = trafficOf(1, 1, 500);
    let before = traffic.ratePerMs(traffic.lastAt);
    for (const silenceMs of [10, 100, 1000, 1e6]) {
      const now = traffic.ratePerMs(traffic.lastAt + silenceMs);
      expect(now).toBeLessThan(before);
      before = now;
    }
    expect(before).toBeLessThan(1e-3);
  });

  test('has the same rate after a silence of the usual length', () => {
    const traffic = trafficOf(1, 10, 200);
    expect(traffic.ratePerMs(traffic.lastAt + 9)).toBe(traffic.ratePerMs(traffic.lastAt));
  });
});

describe('a pause', () => {
  test('does not change the rate of the traffic after it', () => {
    const traffic = trafficOf(1, 1, 500);
    const before = traffic.ratePerMs(traffic.lastAt);
    traffic.arrived(1, traffic.lastAt + 1e6);
    for (let i = 0; i < 20; i++) traffic.arrived(1, traffic.lastAt + 1);
    expect(traffic.ratePerMs(traffic.lastAt)).toBeGreaterThan(0.5 * before);
  });

  test('between the first arrivals counts in full', () => {
    const traffic = new Traffic();
    for (const at of [0, 1000, 2000]) traffic.arrived(1, at);
    expect(traffic.ratePerMs(2000)).toBeCloseTo(1 / 1000, 9);
  });
});

test('the steady rate follows a change more slowly than the recent one', () => {
  const traffic = trafficOf(1, 10, 3000);
  for (let i = 0; i < 60; i++) traffic.arrived(1, traffic.lastAt + 1);
  const [recent, steady] = [traffic.ratePerMs(traffic.lastAt), traffic.steadyCostPerMs(traffic.lastAt)];
  expect(recent).toBeGreaterThan(1.25 * steady);
  expect(steady).toBeGreaterThan(0.1);
  expect(steady).toBeLessThan(0.15);
});

test('the steady rate of random arrivals is off by less than the recent one', () => {
  const random = seeded(3);
  const traffic = new Traffic();
  let recent = 0;
  let steady = 0;
  for (let i = 0, now = 0; i < 20_000; i++) {
    now += -4 * Math.log(1 - random());
    traffic.arrived(1, now);
    if (i < 1000) continue;
    recent += Math.abs(4 * traffic.ratePerMs(now) - 1);
    steady += Math.abs(4 * traffic.steadyCostPerMs(now) - 1);
  }
  expect(steady).toBeLessThan(0.7 * recent);
});

test('the mean cost of an item is that of the latest batches', () => {
  const random = seeded(4);
  const traffic = new Traffic();
  expect(traffic.meanCost).toBe(1);
  const batch = (cost: number) => ({ size: 4, cost, callers: 4, durationMs: 10 });
  for (let i = 0; i < 300; i++) traffic.batchEnded(batch(4 * (5 + 0.5 * normal(random))), i * 10);
  expect(traffic.meanCost).toBeGreaterThan(4.7);
  expect(traffic.meanCost).toBeLessThan(5.3);
  for (let i = 0; i < 300; i++) traffic.batchEnded(batch(2), 3000 + i * 10);
  expect(traffic.meanCost).toBeCloseTo(0.5, 2);
});

test('for any arrivals, the rate is finite and above 0 once there was a gap', () => {
  const arrival = fc.tuple(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 1000 }));
  fc.assert(
    fc.property(fc.array(arrival, { minLength: 2, maxLength: 50 }), (arrivals) => {
      const traffic = new Traffic();
      let now = 0;
      for (const [count, gapMs] of arrivals) {
        now += gapMs;
        traffic.arrived(count, now);
      }
      expect(traffic.lastAt).toBe(now);
      expect(traffic.ratePerMs(now + 1)).toBeGreaterThan(0);
      expect(traffic.ratePerMs(now + 1)).toBeLessThan(Number.POSITIVE_INFINITY);
    }),
  );
});

// Root cause: the mean was over batches, each with the mean cost of its items.
test('the mean cost of an item is that of all items, whatever the sizes of their batches', () => {
  const traffic = new Traffic();
  for (let i = 0; i < 400; i++) {
    traffic.batchEnded({ size: 1, cost: 100, callers: 1, durationMs: 1 }, 2 * i);
    traffic.batchEnded({ size: 99, cost: 99, callers: 99, durationMs: 1 }, 2 * i + 1);
  }
  expect(traffic.meanCost).toBeGreaterThan(1.9);
  expect(traffic.meanCost).toBeLessThan(2.1);
});

// Root cause: callers that join a computation counted, and items that found the queue full did not.
describe('the arrival rate counts the items that were offered to the queue:', () => {
  const ignored = { resolve() {}, reject() {} };

  async function perSecond(
    options: BatcherOptions<number>,
    submit: (batcher: Batcher<number, number>) => void,
  ) {
    const { batcher, clock } = gated(options);
    for (let i = 0; i < 500; i++) {
      submit(batcher);
      await clock.advance(10);
    }
    const { arrivalsPerSecond } = batcher.stats();
    batcher.destroy();
    await clock.settle();
    return arrivalsPerSecond;
  }

  test('not callers that share an item', async () => {
    let next = 0;
    const options = { dedupeBy: (item: number) => item };
    const rate = await perSecond(options, (batcher) => {
      for (let caller = 0; caller < 10; caller++) batcher.enqueue(next, ignored);
      next += 1;
    });
    expect(rate).toBeCloseTo(100, 6);
  });

  test.each([
    ['a full queue', { maxQueueSize: 1 }],
    ['overload', { targetLatencyMs: 20, curve: [{ cost: 1, durationMs: 15 }] }],
  ])('also items that are rejected because of %s', async (_, options) => {
    const rate = await perSecond({ ...options, maxBatchSize: 1 }, (batcher) => batcher.enqueue(1, ignored));
    expect(rate).toBeCloseTo(100, 6);
  });

  test('also the items of a request that is rejected as a whole', async () => {
    const rate = await perSecond({ maxQueueSize: 5, maxBatchSize: 1 }, (batcher) => {
      batcher.submitMany([1, 2, 3]).catch(() => {});
    });
    expect(rate).toBeGreaterThan(290);
  });

  test('not items that are invalid or cancelled beforehand', async () => {
    const options = { costOf: (item: number) => item, maxBatchSize: 8 };
    const rate = await perSecond(options, (batcher) => {
      batcher.enqueue(1, ignored);
      batcher.enqueue(9, ignored);
      batcher.enqueue(Number.NaN, ignored);
      batcher.submit(1, { signal: AbortSignal.abort() }).catch(() => {});
    });
    expect(rate).toBeCloseTo(100, 6);
  });

  test('of each group likewise', async () => {
    const seen: number[] = [];
    const policy: Policy = {
      name: 'reading',
      decide: ({ traffic, length }, now) => {
        seen.push(traffic.ratePerMs(now));
        return { action: 'dispatch', count: length, reason: 'idle' };
      },
    };
    const clock = new VirtualClock();
    const options = { clock, policy, groupOf: (item: number) => item, maxQueueSize: 2, maxBatchSize: 1 };
    const handler = (items: number[]) =>
      new Promise<number[]>((resolve) => clock.setTimer(() => resolve(items), 50));
    const batcher = new Batcher(handler, options);
    for (let i = 0; i < 1000; i++) {
      batcher.enqueue(i % 3, ignored);
      await clock.advance(5);
    }
    for (const rate of seen.slice(-10)) expect(rate).toBeCloseTo(1 / 15, 3);
    batcher.destroy();
  });
});
