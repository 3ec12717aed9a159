/** Scenario files: the keys, and the parsed scenarios. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  measure,
  PEERS,
  parseScenario,
  parseTrace,
  randomStream,
  readScenarioFile,
  simulate,
} from '@batchwise/arena';
import { afterEach, describe, expect, test } from 'vitest';
import { contenders, parsed } from './support/parsed-scenario.js';

function firstOf(scenario: object) {
  const [first] = parsed(scenario).scenarios;
  if (first === undefined) throw new Error('There is no scenario.');
  return first;
}

/** The first arrival times with a seed. */
function timesOf(scenario: object, count: number): number[] {
  const { arrivals } = firstOf(scenario);
  if (arrivals.kind !== 'open') throw new Error('These arrivals have no times.');
  const next = arrivals.times(randomStream(1, 'arrivals'));
  return Array.from({ length: count }, next);
}

const perSecond = (arrivals: object, count = 40_000) =>
  (1000 * count) / (timesOf({ arrivals }, count).at(-1) ?? 0);

test('only curve and arrivals are required', () => {
  const { name, scenarios, contenders: chosen } = parsed({});
  expect(name).toBe('quiet');
  expect(scenarios).toMatchObject([
    {
      name: 'quiet',
      slots: 1,
      items: 10_000,
      targetLatencyMs: Number.POSITIVE_INFINITY,
      noise: 0,
      timerMs: 1,
      seed: 1,
    },
  ]);
  expect(scenarios[0]?.curve).toMatchObject({ name: 'a', maxBatchSize: 64 });
  expect(chosen).toEqual(PEERS);
});

test('all keys', () => {
  const {
    name,
    scenarios,
    contenders: chosen,
  } = parsed({
    name: 'busy',
    curve: '5 + 0.1*b',
    max_batch_size: 32,
    slots: 2,
    arrivals: { kind: 'poisson', rate: 800 },
    items: 500,
    target_latency_ms: 40,
    noise: 0.05,
    timer_ms: 0,
    seeds: [3, 4],
    policies: ['nexus', 'greedy'],
    max_wait_ms: 5,
    batch_sizes: [8, 16, 32],
    slowdown: { at_ms: 1000, factor: 2, over_ms: 500 },
    tail: { kind: 'outliers', share: 0.05, factor: 5 },
    stalls: [{ at_ms: 20, ms: 300 }],
    hang: { at_ms: 400, ms: 5000 },
    known_curve: '50 + 1*b',
    measure_from_ms: 3000,
    until_ms: 9000,
    obeys_retry_after: 0.5,
  });
  expect(name).toBe('busy');
  expect(chosen.map((contender) => contender.name)).toEqual(['nexus', 'greedy']);
  expect(scenarios).toMatchObject([{ seed: 3 }, { seed: 4 }]);
  expect(scenarios[1]).toMatchObject({
    name: 'busy',
    slots: 2,
    items: 500,
    targetLatencyMs: 40,
    noise: 0.05,
    timerMs: 0,
    maxWaitMs: 5,
    batchSizes: [8, 16, 32],
    slowdown: { atMs: 1000, factor: 2, overMs: 500 },
    tail: { kind: 'outliers', share: 0.05, factor: 5 },
    stalls: [{ atMs: 20, ms: 300 }],
    hang: { atMs: 400, ms: 5000 },
    measureFromMs: 3000,
    untilMs: 9000,
    obeysRetryAfter: 0.5,
  });
  expect(scenarios[1]?.knownCurve).toHaveLength(32);
  expect(scenarios[1]?.knownCurve?.[9]).toEqual({ cost: 10, durationMs: 60 });
  expect(scenarios[1]?.curve.durationMs(10)).toBe(6);
  expect(scenarios[1]?.curve.maxBatchSize).toBe(32);
});

test('target_ms is an alias of target_latency_ms', () => {
  expect(firstOf({ target_ms: 40 }).targetLatencyMs).toBe(40);
  expect(() => firstOf({ target_ms: 40, target_latency_ms: 40 })).toThrow(/target_ms: an alias of/);
  expect(() => firstOf({ target_ms: 'soon' })).toThrow(/target_ms: expected/);
});

test('a target of null means no target', () => {
  expect(firstOf({ target_latency_ms: null }).targetLatencyMs).toBe(Number.POSITIVE_INFINITY);
});

describe('arrivals', () => {
  test('rate is per second, load is a share of the maximum throughput of all slots', () => {
    expect(perSecond({ kind: 'poisson', rate: 800 })).toBeCloseTo(800, -2);
    // Curve a serves 64 items in 11.4 ms.
    const times = timesOf({ slots: 2, arrivals: { kind: 'poisson', load: 0.5 } }, 40_000);
    expect(40_000 / (times.at(-1) ?? 0)).toBeCloseTo(64 / 11.4, 1);
  });

  test('load counts what items cost', () => {
    const [first = 0] = timesOf({}, 1);
    const [costlier = 0] = timesOf({ costs: { '1': 1, '7': 1 } }, 1);
    expect(costlier).toBeCloseTo(4 * first);
    const [uniform = 0] = timesOf({ costs: { kind: 'uniform', from: 1, to: 7 } }, 1);
    expect(uniform).toBeCloseTo(4 * first);
  });

  test.each([
    { kind: 'mmpp', rate: 800, state_ms: 20 },
    { kind: 'on_off', rate: 800, phase_ms: 20 },
    { kind: 'fan_out', rate: 800, size: 8, within_ms: 1 },
    { kind: 'lognormal', rate: 800, sigma: 1 },
    {
      kind: 'phases',
      phases: [
        { rate: 1600, ms: 20 },
        { rate: 0, ms: 20 },
      ],
    },
  ])('$kind keeps the rate', (arrivals) => {
    expect(Math.abs(perSecond(arrivals) / 800 - 1)).toBeLessThan(0.05);
  });

  test('closed loops have users with think times', () => {
    expect(
      firstOf({ arrivals: { kind: 'closed', users: 20, think_ms: 5, thinking: 'constant' } }).arrivals,
    ).toEqual({
      kind: 'closed',
      name: 'closed',
      users: 20,
      thinkMs: 5,
      thinking: 'constant',
    });
  });

  test('recorded arrivals are complete by default', () => {
    const times = { kind: 'times', times: [0, 2, 2, 7.5] };
    expect(firstOf({ arrivals: times }).items).toBe(4);
    expect(timesOf({ arrivals: times }, 5)).toEqual([0, 2, 2, 7.5, Number.POSITIVE_INFINITY]);
    expect(firstOf({ arrivals: times, items: 3 }).items).toBe(3);
    expect(timesOf({ arrivals: { kind: 'trace', file: 'times.csv' } }, 3)).toEqual([0, 1, 5]);
  });
});

describe('traits of items', () => {
  const drawn = (scenario: object, count = 20_000) => {
    const { traits } = firstOf(scenario);
    const random = randomStream(1, 'traits');
    return Array.from({ length: count }, () => traits?.(random) ?? {});
  };
  const shareOf = <T>(values: readonly T[], isCounted: (value: T) => boolean) =>
    values.filter(isCounted).length / values.length;

  test('none by default', () => {
    expect(firstOf({}).traits).toBeUndefined();
  });

  test('values are drawn by weights, which need not add up to 1', () => {
    const items = drawn({
      costs: { '1': 3, '2.5': 1 },
      groups: { a: 0.7, b: 0.3 },
      priorities: { '0': 90, '-5': 10 },
      tenants: { anna: 1, ben: 1 },
    });
    expect(shareOf(items, ({ cost }) => cost === 2.5)).toBeCloseTo(0.25, 1);
    expect(shareOf(items, ({ cost }) => cost === 1)).toBeCloseTo(0.75, 1);
    expect(shareOf(items, ({ group }) => group === 'a')).toBeCloseTo(0.7, 1);
    expect(shareOf(items, ({ priority }) => priority === -5)).toBeCloseTo(0.1, 1);
    expect(shareOf(items, ({ tenant }) => tenant === 'anna')).toBeCloseTo(0.5, 1);
  });

  test('uniform costs are whole numbers, with both ends included', () => {
    const costs = drawn({ costs: { kind: 'uniform', from: 2, to: 4 } }).map(({ cost }) => cost);
    expect([...new Set(costs)].sort()).toEqual([2, 3, 4]);
    expect(shareOf(costs, (cost) => cost === 4)).toBeCloseTo(1 / 3, 1);
  });

  test('a trace has the traits of each item, from the first one in every run', async () => {
    const scenario = firstOf({ arrivals: { kind: 'trace', file: 'items.csv' }, timer_ms: 0 });
    for (let run = 0; run < 2; run++) {
      const random = randomStream(run, 'traits');
      expect([1, 2, 3].map(() => scenario.traits?.(random))).toEqual([
        { cost: 2, group: 'a' },
        { cost: 4, group: 'b' },
        { cost: 1, group: 'a' },
      ]);
    }
    const greedy = contenders.get('greedy') ?? PEERS[0];
    if (greedy === undefined) throw new Error('There are no peers.');
    const [first, again] = [await simulate(scenario, greedy), await simulate(scenario, greedy)];
    // 5.2 ms for a cost of 2, then 5.4 for 4, then 5.1 for 1.
    expect(first.batches.map(({ durationMs }) => durationMs)).toEqual([5.2, 5.4, 5.1]);
    expect(again.latencyMs).toEqual(first.latencyMs);
  });
});

test('a parsed scenario runs', async () => {
  const { scenarios, contenders: chosen } = parsed({
    items: 300,
    seeds: [1, 2],
    policies: ['greedy', 'bentoml'],
    target_latency_ms: 60,
  });
  for (const scenario of scenarios) {
    for (const contender of chosen)
      expect(measure(await simulate(scenario, contender)).goodput).toBeGreaterThan(0.9);
  }
});

test('the examples of the reference page are valid', () => {
  const page = readFileSync(new URL('../../../docs/reference/scenario.md', import.meta.url), 'utf8');
  const examples = [...page.matchAll(/^```json\n(.*?)^```$/gms)].map(([, text = '']) => text);
  const [greedy] = PEERS;
  if (greedy === undefined) throw new Error('There are no peers.');
  const known = new Map([...contenders, ['adaptive', { ...greedy, name: 'adaptive' }]]);
  expect(examples.length).toBeGreaterThanOrEqual(3);
  for (const text of examples) {
    const parse = () => parseScenario(text, 'example.json', { contenders: known, readFile: () => '' });
    expect(parse).not.toThrow();
  }
  const [, trace = ''] = /^```csv\n(.*?)^```$/ms.exec(page) ?? [];
  expect(parseTrace(trace, 'example.csv').traits?.[1]).toEqual({ group: 'long', cost: 12 });
});

test('the reference page has every key and every rule of another system', () => {
  const page = readFileSync(new URL('../../../docs/reference/scenario.md', import.meta.url), 'utf8');
  let keys: string[] = [];
  try {
    parsed({ no_key: 1 });
  } catch (error) {
    keys = / Known are (.*)\.$/.exec((error as Error).message)?.[1]?.split(', ') ?? [];
  }
  expect(keys).toContain('measure_from_ms');
  const names = [...keys, ...PEERS.map(({ name }) => name)];
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

describe('a file on disk', () => {
  let folder = '';
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('the name of a trace is relative to the scenario file', () => {
    folder = mkdtempSync(join(tmpdir(), 'scenario-'));
    const scenario = { curve: 'a', arrivals: { kind: 'trace', file: 'monday.csv' } };
    writeFileSync(join(folder, 'monday.json'), JSON.stringify(scenario));
    writeFileSync(join(folder, 'monday.csv'), '0\n4\n');
    const { name, scenarios } = readScenarioFile(join(folder, 'monday.json'), contenders);
    expect(name).toBe('monday');
    expect(scenarios).toMatchObject([{ items: 2 }]);
  });
});
