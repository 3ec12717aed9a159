import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Scenario, scenarioBound, scenarioJson, scenarioText } from '@batchwise/arena';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runScenario } from '../src/tournament/arena-runs.js';
import { parsed } from './support/parsed-scenario.js';

describe('the bound of a scenario', () => {
  const boundOf = (fields: object) =>
    scenarioBound(parsed({ items: 300, ...fields }).scenarios[0] as Scenario);
  const closed = { kind: 'closed', users: 16, think_ms: 1 };

  test.each<[string, object, object]>([
    ['the optimum for one slot and Poisson arrivals', {}, { measure: 'mean_ms', kind: 'optimum' }],
    ['clairvoyant with a target', { target_latency_ms: 20 }, { measure: 'goodput', kind: 'clairvoyant' }],
    ['fluid with several slots', { target_latency_ms: 20, slots: 2 }, { measure: 'goodput', kind: 'fluid' }],
    [
      'a reference for a closed loop',
      { arrivals: closed },
      { kind: 'reference', value: expect.closeTo(6.6, 9) },
    ],
    [
      'clairvoyant for recorded times',
      { arrivals: { kind: 'times', times: [0, 1, 2] }, items: 3, target_latency_ms: 7.3 },
      { value: 1 },
    ],
  ])('is %s', (_what, fields, bound) => {
    expect(boundOf(fields)).toMatchObject(bound);
  });

  test.each<[string, object]>([
    ['noise', { noise: 0.1, target_latency_ms: 20 }],
    ['items that differ', { costs: { '1': 1, '2': 1 }, target_latency_ms: 20 }],
    ['a backend that slows down', { slowdown: { at_ms: 0, factor: 2 } }],
    ['heavy tails', { tail: { kind: 'pareto', alpha: 2 } }],
    ['stalls', { stalls: [{ at_ms: 5, ms: 5 }] }],
    ['a slot that hangs', { hang: { at_ms: 5, ms: 5 } }],
    ['the first items not measured', { measure_from_ms: 5 }],
    ['bursts without a target', { arrivals: { kind: 'fan_out', load: 0.5 } }],
    ['two slots without a target', { slots: 2 }],
    ['overload without a target', { arrivals: { kind: 'poisson', load: 1.1 } }],
    ['very large batches', { curve: '5 + 0.1*b', max_batch_size: 4096 }],
    ['a closed loop with a target', { arrivals: closed, target_latency_ms: 20 }],
  ])('is unknown with %s', (_what, fields) => {
    expect(boundOf(fields)).toBeUndefined();
  });

  test('is the fluid bound if the exact one would take too long', () => {
    expect(boundOf({ target_latency_ms: 20, items: 400_000 })).toMatchObject({ kind: 'fluid' });
  });
});

describe('a scenario file', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'batchwise-scenario-'));
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  async function run(fields: object) {
    const path = join(folder, 'mine.json');
    const least = { curve: 'a', arrivals: { kind: 'poisson', load: 0.5 }, items: 400 };
    writeFileSync(path, JSON.stringify({ ...least, ...fields }));
    return runScenario(path, { workers: 0 });
  }

  test('has the measures of every policy, averaged over the seeds, with standard deviations', async () => {
    const report = await run({ target_latency_ms: 25, seeds: [7, 8], policies: ['efficiency', 'greedy'] });
    const json = JSON.parse(JSON.stringify(scenarioJson(report)));
    const measures = {
      mean_ms: expect.any(Number),
      p50_ms: expect.any(Number),
      p99_ms: expect.any(Number),
      goodput: expect.any(Number),
      refused: expect.any(Number),
      busy_ms: expect.any(Number),
      batches: expect.any(Number),
      mean_batch_size: expect.any(Number),
    };
    expect(json).toEqual({
      name: 'mine',
      curve: 'a',
      slots: 1,
      target_latency_ms: 25,
      items: 400,
      seeds: [7, 8],
      bound: { measure: 'goodput', kind: 'clairvoyant', value: 1, standard_deviation: 0 },
      policies: [
        { policy: 'efficiency', ...measures, to_bound: expect.any(Number), standard_deviation: measures },
        { policy: 'greedy', ...measures, to_bound: 1, standard_deviation: measures },
      ],
    });
    const [efficiency, greedy] = json.policies;
    expect(efficiency.busy_ms).toBeLessThan(greedy.busy_ms);
    expect(greedy.batches * greedy.mean_batch_size).toBeCloseTo(400, -1);
  });

  test('has no standard deviation with one seed, and no share on time without a target', async () => {
    const report = await run({ policies: ['greedy'] });
    expect(scenarioJson(report)).toMatchObject({
      target_latency_ms: null,
      bound: { kind: 'optimum', standard_deviation: null },
      policies: [{ standard_deviation: { mean_ms: null } }],
    });
    const text = scenarioText(report);
    expect(text).toMatch(/^mine: curve a, 1 slot, 400 items, no target, seed 1$/m);
    expect(text).toMatch(
      /^greedy +[\d.]+ ms +[\d.]+ ms +[\d.]+ ms +– +0 % +[\d,]+ ms +\d+ +[\d.]+ +[\d.]+$/m,
    );
    expect(text).toMatch(/^Bound: the optimum of all policies has a mean of [\d.]+ ms\.$/m);
  });

  test('says that there is no bound, or only a reference', async () => {
    expect(scenarioText(await run({ noise: 0.2, policies: ['greedy'] }))).toContain('No bound is known');
    const loop = { kind: 'closed', users: 8, think_ms: 1 };
    expect(scenarioText(await run({ arrivals: loop, policies: ['greedy'] }))).toContain(
      'Reference, not a bound',
    );
  });

  test('that is invalid is an error with its location before anything runs', async () => {
    await expect(run({ policies: ['adaptve'] })).rejects.toThrow(
      /^mine\.json: policies\[0\]: unknown policy "adaptve"\. Did you mean adaptive\?/,
    );
    await expect(run({ curve: [{ size: 1, ms: 3 }, { size: 4 }] })).rejects.toThrow(
      /^mine\.json: curve\[1\]\.ms: /,
    );
  });
});
