import { type HarmResult, harmJson, harmText, parseScenario, randomScenario } from '@batchwise/arena';
import { describe, expect, test } from 'vitest';
import { CONTENDERS } from '../src/simulation/our-contenders.js';

describe('random scenarios', () => {
  const all = Array.from({ length: 300 }, (_, i) => randomScenario(i + 1));

  test('are valid scenario files, the same for the same seed', () => {
    for (const { seed, file } of all) {
      expect(randomScenario(seed).file).toEqual(file);
      const { scenarios } = parseScenario(JSON.stringify(file), 'random.json', {
        contenders: CONTENDERS,
        readFile: () => '',
      });
      expect(scenarios).toMatchObject([{ seed, measureFromMs: expect.any(Number) }]);
    }
  });

  test('cover all kinds of backends and traffic', () => {
    const tags = new Set(all.flatMap((scenario) => scenario.tags));
    for (const tag of [
      ...['straight', 'flat, then straight', 'root', 'powers of two', 'even steps', 'best in the middle'],
      ...['poisson', 'mmpp', 'on_off', 'fan_out', 'lognormal', 'phases', 'closed'],
      ...['1 slot', 'several slots', 'target', 'no target', 'noise 30 %', 'pareto', 'outliers'],
      ...['stall', 'slower', 'quicker', 'drift', 'curve option × 10', 'curve option × 0.1'],
    ]) {
      expect(tags).toContain(tag);
    }
    expect(new Set(all.map(({ file }) => file.slots))).toEqual(new Set([1, 2, 3, 4, 6, 8]));
  });
});

describe('the report', () => {
  const result = (seed: number, latencyRatio: number, goodputGain: number): HarmResult => ({
    ...randomScenario(seed),
    latencyRatio,
    goodputGain,
    rejected: 0.1,
    isHarmed: latencyRatio > 1.05 || goodputGain < -0.02,
  });

  test('lists harmed scenarios, the worst first, with their files', () => {
    const text = harmText([result(1, 0.9, 0), result(2, 1.1, 0), result(3, 1, -0.5)]);
    expect(text).toMatch(/^3 random scenarios: the adaptive policy does harm in 2 /);
    expect(text).toMatch(/^ +3 +1\.000 +−50\.0 +10\.0 % .*\n +2 +1\.100 +0\.0 /m);
    expect(text).toContain(`\n${JSON.stringify(randomScenario(3).file)}\n`);
  });

  test('is one line if no scenario is harmed', () => {
    expect(harmText([result(1, 0.9, 0)])).toMatch(/does harm in 0 .*\n$/);
  });

  test('has all scenarios in JSON', () => {
    expect(harmJson([result(1, 0.9, 0), result(2, 1.1, 0)])).toMatchObject({
      scenarios: 2,
      harmed: 1,
      results: [
        { seed: 1, harmed: false },
        { seed: 2, harmed: true, latency_ratio: 1.1 },
      ],
    });
  });
});
