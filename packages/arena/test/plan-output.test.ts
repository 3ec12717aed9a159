import { adaptive, Batcher } from 'batchwise';
import { beforeAll, describe, expect, test } from 'vitest';
import { makePlan, type Plan, type Verdict } from '../src/plan/plan.js';
import { chartOf, planChart } from '../src/plan/plan-chart.js';
import { planJson } from '../src/plan/plan-json.js';
import { curveNoise, noiseBetween } from '../src/plan/plan-noise.js';
import { formatCount, formatMs, formatShare, formatTarget } from '../src/plan/plan-notation.js';
import { snippetOf } from '../src/plan/plan-settings.js';
import { PLAIN, planText } from '../src/plan/plan-text.js';
import { answerOf } from '../src/plan/plan-verdict.js';
import { formulaCurve } from '../src/simulation/curve.js';

/** A simulated plan; the others are derived from it. */
let held: Plan;

beforeAll(async () => {
  const curve = formulaCurve('mine', 16, (b) => 5 + 0.1 * b);
  held = await makePlan({
    curve,
    traffic: { kind: 'rate', perSecond: 1000 },
    targetLatencyMs: 20,
    items: 3000,
  });
});

function notHeld(verdict: Verdict, changes: Partial<Plan> = {}): Plan {
  return { ...held, verdict, ...changes };
}

function tooFewSlots(lowestTargetLatencyMs?: number): Plan {
  const input = { ...held.input, slots: 1, perSecond: 4000 };
  const expected = { ...(held.expected as NonNullable<Plan['expected']>), goodput: 0.4567, perSecond: 4000 };
  return notHeld({ kind: 'too few slots', lowestTargetLatencyMs }, { input, expected, slotsNeeded: 2 });
}

function targetTooLow(lowestTargetLatencyMs?: number): Plan {
  const nothing = { settings: undefined, expected: undefined, largest: undefined, slotsNeeded: undefined };
  return notHeld(
    { kind: 'target too low', lowestTargetLatencyMs, slots: 3 },
    { input: { ...held.input, targetLatencyMs: 5 }, ...nothing, loads: [] },
  );
}

function rateTooHigh(slotsNeeded?: number): Plan {
  const settings = { ...(held.settings as NonNullable<Plan['settings']>), concurrency: 64 };
  const largest = { ...(held.largest as NonNullable<Plan['largest']>), perSecond: 123_000 };
  return notHeld(
    { kind: 'rate too high', slotsNeeded },
    { input: { ...held.input, perSecond: 400_000 }, settings, largest, slotsNeeded: undefined },
  );
}

describe('the answer', () => {
  test('for a target that is held', () => {
    expect(answerOf(held)).toBe(
      'Yes: 1 slot can serve 1,000 requests/s within 20 ms, 100 % of them on time.',
    );
  });

  test('for too few slots', () => {
    const no = 'No: with 1 slot, only 45.6 % of 4,000 requests/s are served within 20 ms.';
    expect(answerOf(tooFewSlots())).toBe(`${no} Needed: 2 slots.`);
    expect(answerOf(tooFewSlots(31.5))).toBe(
      `${no} Needed: 2 slots, or a target of at least 31.5 ms with 1 slot.`,
    );
  });

  test('for a target below the duration of a single request', () => {
    const no = 'No: no rate can be served within 5 ms, because a batch of 1 takes 5.10 ms.';
    expect(answerOf(targetTooLow(9.8))).toBe(
      `${no} Needed: a target of at least 9.8 ms for 1,000 requests/s with 3 slots.`,
    );
    expect(answerOf(targetTooLow())).toBe(`${no} Needed: a higher target, and a lower rate or more slots.`);
  });

  test('for a target that single requests exceed too often', () => {
    const plan = targetTooLow(9.8);
    expect(answerOf({ ...plan, input: { ...plan.input, targetLatencyMs: 5.2 } })).toContain(
      'because a batch of 1 takes 5.10 ms, and too often longer than the target. Needed:',
    );
  });

  test('for a rate that 64 slots cannot serve', () => {
    const no = 'No: 64 slots hold 123,000 requests/s within 20 ms, not 400,000 requests/s.';
    expect(answerOf(rateTooHigh(208))).toBe(
      `${no} Needed: about 208 slots, more than the 64 that are simulated; or a faster backend.`,
    );
    expect(answerOf(rateTooHigh())).toBe(`${no} Needed: more than 64 slots; or a faster backend.`);
    expect(answerOf({ ...rateTooHigh(), largest: undefined })).toContain(
      '64 slots hold no rate of this traffic',
    );
  });
});

describe('the text', () => {
  test('begins with the answer and ends with the settings', () => {
    const text = planText(held);
    expect(text).toMatch(/^mine: batches of 1 to 16 take 5\.10 ms to 6\.60 ms, no noise\n\nYes: /);
    expect(text).toContain(snippetOf(held.settings as NonNullable<Plan['settings']>));
    expect(text.endsWith('});\n')).toBe(true);
  });

  test('fits into 80 columns and has no trailing spaces', () => {
    for (const plan of [held, tooFewSlots(31.5), targetTooLow(9.8), rateTooHigh(208)]) {
      for (const line of planText(plan).split('\n')) {
        expect([...line].length, line).toBeLessThanOrEqual(80);
        expect(line).toBe(line.trimEnd());
      }
    }
  });

  test('has no settings if the target cannot be held', () => {
    expect(planText(targetTooLow(9.8))).not.toContain('Settings');
  });

  test('marks the given rate and the largest', () => {
    const lines = planText(held).split('\n');
    expect(lines.filter((line) => line.includes('← yours'))).toEqual([
      expect.stringMatching(/^ +1,000 .* ← yours$/),
    ]);
    expect(lines.filter((line) => line.includes('← largest'))).toHaveLength(1);
  });

  test('has colours only with a palette', () => {
    const loud = { ...PLAIN, good: (text: string) => `<${text}>`, heading: (text: string) => `[${text}]` };
    expect(planText(held, loud)).toMatch(
      /\n\n<Yes:> 1 slot[\s\S]*\[At 1,000 requests\/s\][\s\S]*\[Settings\]/,
    );
    // biome-ignore lint/suspicious/noControlCharactersInRegex: ANSI escape sequences
    expect(planText(held)).not.toMatch(/\x1b/);
  });
});

test('the snippet creates a batcher with these settings', async () => {
  const settings = held.settings as NonNullable<Plan['settings']>;
  const [importLine = '', ...code] = snippetOf(settings).split('\n');
  expect(importLine).toBe(`import { ${settings.policy.name}, Batcher } from 'batchwise';`);
  const names = [Batcher.name, settings.policy.name] as const;
  const given: unknown[] = [];
  class Spy {
    constructor(...args: unknown[]) {
      given.push(...args);
    }
  }
  const make = new Function('handler', ...names, code.join('\n'));
  make('the handler', Spy, adaptive);
  const { policy, ...options } = given[1] as { policy: { name: string } };
  expect(given[0]).toBe('the handler');
  expect({ ...options, policy: policy.name }).toEqual({ ...settings, policy: settings.policy.make().name });
});

describe('the JSON', () => {
  test('is complete, in snake_case and with at most six digits', () => {
    const json = JSON.parse(JSON.stringify(planJson(held)));
    expect(json).toMatchObject({
      input: { curve: 'mine', traffic: 'rate', rate_per_second: 1000, target_latency_ms: 20, slots: null },
      holds: true,
      holds_from: 0.99,
      verdict: 'holds',
      needed: { slots: 1, target_latency_ms: 20 },
      settings: { max_batch_size: 16, concurrency: 1, target_latency_ms: 20 },
      expected: { rate_per_second: 1000, goodput: 1, refused: 0 },
    });
    expect(Object.keys(json.expected)).toEqual([
      'rate_per_second',
      'mean_ms',
      'p50_ms',
      'p99_ms',
      'goodput',
      'refused',
      'mean_batch_size',
      'batches_per_second',
      'utilisation',
    ]);
    expect(json.loads.length).toBeGreaterThan(10);
    expect(JSON.stringify(json)).not.toMatch(/"[a-z]+[A-Z]\w*":/);
  });

  test('has the required slots and target if the target is not held', () => {
    expect(planJson(targetTooLow(9.8))).toMatchObject({
      holds: false,
      verdict: 'target_too_low',
      needed: { slots: null, target_latency_ms: 9.8 },
      settings: null,
      snippet: null,
      expected: null,
      largest_rate: null,
      loads: [],
    });
    expect(planJson(tooFewSlots())).toMatchObject({
      holds: false,
      verdict: 'too_few_slots',
      needed: { slots: 2, target_latency_ms: null },
    });
    expect(planJson(rateTooHigh(208))).toMatchObject({
      verdict: 'rate_too_high',
      needed: { slots: 208, target_latency_ms: 20 },
    });
  });
});

describe('the chart', () => {
  test('has mean and p99 at every load, the target, the knee and the given rate', () => {
    const spec = chartOf(held);
    const rates = held.loads.map(({ perSecond }) => perSecond);
    expect(spec?.series.map(({ name, points }) => [name, points.map(([x]) => x)])).toEqual([
      ['mean', rates],
      ['p99', rates],
    ]);
    expect(spec?.yMarks).toEqual([{ at: 20, label: 'target: 20 ms' }]);
    expect(spec?.xMarks?.map(({ at }) => at)).toEqual([1000, held.largest?.perSecond]);
    expect(spec?.xMarks?.[1]?.label).toMatch(/^knee: [\d,]+ requests\/s hold the target$/);
  });

  test('is an SVG', () => {
    expect(planChart(held)).toMatch(/^<svg [\s\S]*<\/svg>\s*$/);
  });

  test('is not drawn when no rate holds the target', () => {
    expect(planChart(targetTooLow(9.8))).toBeUndefined();
  });
});

describe('numbers', () => {
  test('of milliseconds have three digits, targets are not rounded', () => {
    expect([0.1234, 9.99, 12.34, 99.94, 1234.5, Number.NaN].map(formatMs)).toEqual([
      '0.123 ms',
      '9.99 ms',
      '12.3 ms',
      '99.9 ms',
      '1,235 ms',
      '–',
    ]);
    expect([50, 12.5, 1500].map(formatTarget)).toEqual(['50 ms', '12.5 ms', '1,500 ms']);
  });

  test('of shares are rounded down', () => {
    expect([1, 0.999999, 0.99, 0.98765, 0.0004, 0].map(formatShare)).toEqual([
      '100 %',
      '99.99 %',
      '99 %',
      '98.7 %',
      '0.04 %',
      '0 %',
    ]);
  });

  test('of requests are grouped', () => {
    expect([0.123456, 12.34, 1234.5, 1e6].map(formatCount)).toEqual(['0.123', '12.3', '1,235', '1,000,000']);
  });
});

describe('noise', () => {
  test('is computed from the percentiles of a measurement', () => {
    const spread = (p50: number, noise: number) => ({
      p50_ms: p50,
      p10_ms: p50 * Math.exp(-1.28155 * noise),
      p90_ms: p50 * Math.exp(1.28155 * noise),
    });
    const measured = { 1: spread(5, 0.05), 8: spread(7, 0.1), 64: spread(11, 0.2) };
    expect(curveNoise(measured)).toBeCloseTo(0.1, 3);
    expect(curveNoise({ resnet50: measured })).toBeCloseTo(0.1, 3);
  });

  test('is undefined without percentiles', () => {
    expect(
      [{ 1: 5, 8: 7 }, { 1: { p50_ms: 5 } }, [{ size: 1, ms: 5 }], '5 + b', null].map(curveNoise),
    ).toEqual(Array(5).fill(undefined));
  });

  test('is 0 between equal percentiles', () => {
    expect(noiseBetween(5, 5)).toBe(0);
  });
});
