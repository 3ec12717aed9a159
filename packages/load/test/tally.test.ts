/** Figures that are merged from several processes are the same as if one process had recorded all. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Histogram } from '../src/statistics/histogram.js';
import { decodeInterval, encodeInterval, Recorder } from '../src/statistics/interval.js';
import { Statistics } from '../src/statistics/statistics.js';
import type { Outcome } from '../src/targets/target.js';

const GAUGES = { users: 1, inFlight: 0, connections: 1, cpuShare: 0.1, eventLoopMs: 1 };

describe('a histogram', () => {
  test('has every percentile within 0.1 % of the exact one', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.01, max: 100_000, noNaN: true }), { minLength: 1, maxLength: 300 }),
        fc.constantFrom(50, 66, 90, 99, 99.9, 100),
        (values, percent) => {
          const histogram = new Histogram();
          for (const value of values) histogram.record(value);
          const sorted = values.toSorted((a, b) => a - b);
          const exact = sorted[Math.max(0, Math.ceil((percent / 100) * values.length) - 1)] as number;
          // A value below 1 ms is rounded to a whole microsecond first.
          expect(Math.abs(histogram.percentile(percent) - exact)).toBeLessThanOrEqual(0.001 * exact + 0.001);
        },
      ),
    );
  });

  test('has the same percentiles one by one and together', () => {
    const values = fc.double({ min: 0.01, max: 100_000, noNaN: true });
    fc.assert(
      fc.property(fc.array(values, { minLength: 1, maxLength: 300 }), fc.nat(1000), (some, again) => {
        const histogram = new Histogram();
        for (const value of some) histogram.record(value);
        for (let i = 0; i < again; i++) histogram.record(some[0] as number);
        const { p50, p66, p75, p80, p90, p95, p98, p99, p999, p9999 } = histogram.percentiles();
        const oneByOne = [50, 66, 75, 80, 90, 95, 98, 99, 99.9, 99.99].map((percent) =>
          histogram.percentile(percent),
        );
        expect([p50, p66, p75, p80, p90, p95, p98, p99, p999, p9999]).toEqual(oneByOne);
      }),
    );
  });

  test('is 0 everywhere when empty', () => {
    expect(new Set(Object.values(new Histogram().percentiles()))).toEqual(new Set([0]));
  });

  test('survives being sent to another process', () => {
    const histogram = new Histogram();
    for (const ms of [0.5, 2, 70_000]) histogram.record(ms);
    const copy = Histogram.decode(JSON.parse(JSON.stringify(histogram.encode())));
    expect(copy.percentiles()).toEqual(histogram.percentiles());
  });
});

const anyOutcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.record({
    kind: fc.constant('ok' as const),
    responseBytes: fc.nat(1000),
    batchSize: fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined }),
    queueMs: fc.constant(1),
    computeMs: fc.constant(2),
  }),
  fc.record({
    kind: fc.constantFrom('rejected' as const, 'failed' as const),
    reason: fc.constantFrom('429 Too Many Requests', 'ECONNRESET'),
    responseBytes: fc.nat(1000),
  }),
);

test('figures of several processes, sent and merged, equal those of one process', () => {
  const request = fc.record({
    outcome: anyOutcome,
    name: fc.constantFrom('a', 'b'),
    process: fc.nat(2),
    second: fc.nat(3),
    ms: fc.integer({ min: 1, max: 500 }),
  });
  fc.assert(
    fc.property(fc.array(request, { maxLength: 60 }), (requests) => {
      const alone = new Statistics();
      const merged = new Statistics();
      for (let second = 0; second <= 3; second++) {
        const all = new Recorder(100);
        for (let process = 0; process <= 2; process++) {
          const recorder = new Recorder(100);
          for (const one of requests) {
            if (one.second !== second || one.process !== process) continue;
            const times = { intendedAt: 0, sentAt: 1, endedAt: one.ms + 1 };
            recorder.record(one.name, one.outcome, times);
            all.record(one.name, one.outcome, times);
          }
          const interval = encodeInterval(recorder.take(second, GAUGES));
          merged.add(decodeInterval(JSON.parse(JSON.stringify(interval))));
        }
        alone.add(all.take(second, { ...GAUGES, users: 3, connections: 3 }));
      }
      expect(merged.total.latency.percentiles()).toEqual(alone.total.latency.percentiles());
      expect(merged.total.count).toBe(requests.length);
      expect(merged.total.failedFor).toEqual(alone.total.failedFor);
      expect(new Map([...merged.total.sizes].sort())).toEqual(new Map([...alone.total.sizes].sort()));
      expect(merged.series).toEqual(alone.series);
    }),
  );
});

test('a scenario with ids in its paths has a bounded number of names, and loses no request', () => {
  const statistics = new Statistics();
  for (let process = 0; process < 2; process++) {
    const recorder = new Recorder(100);
    for (let id = 0; id < 300; id++) {
      const times = { intendedAt: 0, sentAt: 0, endedAt: 1 };
      recorder.record(`GET /items/${process}-${id}`, { kind: 'ok', responseBytes: 1 }, times);
    }
    const interval = recorder.take(0, GAUGES);
    expect(interval.tallies.size).toBe(201);
    statistics.add(interval);
  }
  expect(statistics.byName.size).toBe(201);
  expect(statistics.byName.get('GET /items/0-199')?.count).toBe(1);
  expect(statistics.byName.get('other names')?.count).toBe(400);
  expect(statistics.total.count).toBe(600);
});
