/** What a run is saved as is read by the parsers of the arena and planned with. */
import {
  makePlan,
  OURS,
  parseCurve,
  parseScenario,
  parseTrace,
  randomStream,
  simulate,
} from '@batchwise/arena';
import { describe, expect, test } from 'vitest';
import type { BatchSizeFigures, LoadReport } from '../src/report/load-report.js';
import { scenarioJson } from '../src/search/scenario-json.js';
import { serviceCurve } from '../src/search/service-curve.js';
import { traceText } from '../src/search/trace-text.js';

const figures = (size: number, requests: number, computeMs: number): BatchSizeFigures => ({
  size,
  requests,
  computeMs,
  queueMs: 1,
  latencyMs: computeMs + 2,
});

/** A backend of 5 + 0.2 b ms, with noise at 3, and one batch of 11 that stalled. */
const SIZES = [
  figures(1, 400, 5.2),
  figures(2, 300, 5.4),
  figures(3, 90, 5.3),
  figures(8, 800, 6.6),
  figures(11, 11, 90),
  figures(16, 1600, 8.2),
];

function arrivals(count: number): number[] {
  const random = randomStream(1, 'arrivals');
  let at = 0;
  return Array.from({ length: count }, () => {
    at += -Math.log(1 - random()) * 2;
    return at;
  });
}

describe('a service curve', () => {
  test('has the mean compute time of frequent sizes, rising', () => {
    // 2 and 3 are out of order: 150 batches of 5.4 and 30 of 5.3 are pooled.
    expect(serviceCurve(SIZES)).toEqual({ 1: 5.2, 2: 5.38333, 3: 5.38333, 8: 6.6, 16: 8.2 });
  });

  test('of rare sizes only is made of these', () => {
    expect(serviceCurve([figures(4, 4, 7)])).toEqual({ 4: 7 });
  });

  test('without batch sizes or compute times in the responses is refused', () => {
    expect(() => serviceCurve([])).toThrow(
      'service curve: expected responses with the headers batchwise-batch-size and',
    );
    expect(() => serviceCurve([figures(4, 400, 0)])).toThrow('batchwise-compute-ms');
  });
});

describe('a trace', () => {
  test('has the arrivals in order, to the microsecond', () => {
    const text = traceText([12.00049, 0, 3.5]);
    expect(text).toBe('time_ms\n0\n3.5\n12\n');
    const times = arrivals(5000);
    const { timesMs } = parseTrace(traceText(times.toReversed()), 'run.csv');
    expect(timesMs).toHaveLength(5000);
    expect(Math.max(...timesMs.map((at, i) => Math.abs(at - (times[i] as number))))).toBeLessThan(0.001);
  });

  test.each([
    [[], 'expected at least one arrival'],
    [[-1, 2], 'expected times from 0 ms on'],
    [[0, Number.NaN], 'expected times from 0 ms on'],
  ])('of %j is refused', (times, message) => {
    expect(() => traceText(times)).toThrow(message);
  });
});

describe('the planner', () => {
  test('makes a plan of the trace and the curve of a run', async () => {
    const { timesMs } = parseTrace(traceText(arrivals(400)), 'run.csv');
    const curve = parseCurve(JSON.parse(JSON.stringify(serviceCurve(SIZES))), 'run');
    expect(curve.maxBatchSize).toBe(16);
    const plan = await makePlan({
      curve,
      traffic: { kind: 'trace', timesMs },
      targetLatencyMs: 50,
      slots: 1,
    });
    expect(plan.verdict.kind).toBe('holds');
  });
});

describe('a scenario', () => {
  const report = {
    batchSizes: SIZES,
    targetLatencyMs: 50,
    total: { perSecond: 480 },
    arrivals: { requestedPerSecond: 500 },
  } as unknown as LoadReport;
  const contenders = new Map(OURS.map((contender) => [contender.name, contender]));

  test('with a trace file runs in the arena', async () => {
    const text = JSON.stringify(scenarioJson(report, { name: 'recorded', traceFile: 'run.csv', slots: 2 }));
    const files: string[] = [];
    const { scenarios } = parseScenario(text, 'run.json', {
      contenders,
      readFile: (name) => {
        files.push(name);
        return traceText(arrivals(500));
      },
    });
    expect(files).toEqual(['run.csv']);
    expect(scenarios).toMatchObject([{ name: 'recorded', slots: 2, items: 500, targetLatencyMs: 50 }]);
    const [scenario, contender] = [scenarios[0], OURS[0]];
    if (scenario === undefined || contender === undefined)
      throw new Error('expected a scenario and a contender');
    const run = await simulate(scenario, contender);
    expect(run.arrivedAt).toHaveLength(500);
  });

  test('without a trace file has Poisson arrivals at the rate of the run, and batches as large as were seen', () => {
    const scenario = scenarioJson({ ...report, batchSizes: [...SIZES, figures(32, 32, 12)] });
    expect(scenario).toMatchObject({
      arrivals: { kind: 'poisson', rate: 500 },
      max_batch_size: 32,
      target_latency_ms: 50,
    });
    const options = { contenders, readFile: () => '' };
    expect(
      parseScenario(JSON.stringify(scenario), 'run.json', options).scenarios[0]?.curve.maxBatchSize,
    ).toBe(32);
  });
});
