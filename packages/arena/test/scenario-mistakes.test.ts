/** Errors of invalid scenario files. */
import { ArenaError } from '@batchwise/arena';
import { describe, expect, test } from 'vitest';
import { parsed } from './support/parsed-scenario.js';

describe('an invalid scenario is an error with its location', () => {
  const times = (...list: unknown[]) => ({ arrivals: { kind: 'times', times: list } });
  const known =
    'Known are name, curve, max_batch_size, slots, backends, arrivals, items, target_latency_ms, target_ms, noise, timer_ms, seeds, policies, max_wait_ms, batch_sizes, costs, groups, priorities, tenants, slowdown, tail, stalls, hang, known_curve, measure_from_ms, until_ms, obeys_retry_after.';

  test.each<[object | string, string, string]>([
    ['{\n  "curve": "a",\n  "slots": }', 'line 3, column 12', 'expected a value, got "}".'],
    ['[]', '', 'expected an object, got an empty list.'],
    ['null', '', 'expected an object, got null.'],
    ['{ "__proto__": { "slots": 2 } }', '', `unknown key "__proto__". ${known}`],
    [{ seed: 1 }, '', `unknown key "seed". Did you mean seeds? ${known}`],
    [{ constructor: 1 }, '', `unknown key "constructor". ${known}`],
    [{ name: '' }, 'name', 'expected a string that is not empty, got the string "".'],
    [{ curve: undefined }, 'curve', 'expected the name of a curve, a formula or a table, got nothing.'],
    [
      {
        curve: [
          { size: 1, ms: 5 },
          { size: 8, ms: null },
        ],
      },
      'curve[1].ms',
      'expected a number above 0, at most 100000000, got null.',
    ],
    [
      { curve: '5 + 0.1*x', max_batch_size: 8 },
      'curve at column 9',
      'unknown word "x". Did you mean b? Known are b, ceil, floor, sqrt, log2, pow, max, min.',
    ],
    [{ curve: '5 + b' }, 'curve', 'a formula needs max_batch_size, because it has no largest size.'],
    [{ max_batch_size: 1e9 }, 'max_batch_size', 'expected a whole number from 1 to 65536, got 1000000000.'],
    [{ slots: 0 }, 'slots', 'expected a whole number from 1 to 1024, got 0.'],
    [{ slots: '2' }, 'slots', 'expected a whole number from 1 to 1024, got the string "2".'],
    [{ items: 1e12 }, 'items', 'expected a whole number from 1 to 5000000, got 1000000000000.'],
    [
      { target_latency_ms: 0 },
      'target_latency_ms',
      'expected a number above 0, at most 100000000000, got 0.',
    ],
    [{ noise: -0.1 }, 'noise', 'expected a number from 0 to 3, got -0.1.'],
    [
      '{ "curve": "a", "arrivals": { "kind": "poisson", "rate": 1e999 } }',
      'arrivals.rate',
      'expected a number from 0.001 to 1000000000, got Infinity.',
    ],
    [{ timer_ms: 1e4 }, 'timer_ms', 'expected a number from 0 to 1000, got 10000.'],
    [{ max_wait_ms: true }, 'max_wait_ms', 'expected a number from 0 to 100000000000, got true.'],
    [{ seeds: [] }, 'seeds', 'expected a list of whole numbers, got an empty list.'],
    [{ seeds: [1, 1.5] }, 'seeds[1]', 'expected a whole number from 0 to 4294967295, got 1.5.'],
    [{ seeds: [7, 8, 7] }, 'seeds[2]', 'expected a seed that is not in the list yet, got 7.'],
    [{ policies: 'greedy' }, 'policies', 'expected a list of names of policies, got the string "greedy".'],
    [
      { policies: ['greedy', 'tritn-2'] },
      'policies[1]',
      'unknown policy "tritn-2". Did you mean triton-2? Known are greedy, window-2, window-10, triton-0, triton-2, triton-10, clipper, bentoml, nexus.',
    ],
    [
      { policies: ['greedy', 'greedy'] },
      'policies[1]',
      'expected a policy that is not in the list yet, got the string "greedy".',
    ],
    [{ batch_sizes: [8, 8] }, 'batch_sizes[1]', 'expected more than the size before (8), got 8.'],
    [{ slowdown: { at_ms: 5 } }, 'slowdown.factor', 'expected a number above 0, at most 1000, got nothing.'],
    [
      { slowdown: { at: 5, factor: 2 } },
      'slowdown',
      'unknown key "at". Did you mean at_ms? Known are at_ms, factor, over_ms.',
    ],
    [
      { tail: { kind: 'paretto', alpha: 2 } },
      'tail.kind',
      'unknown value "paretto". Did you mean pareto? Known are pareto, outliers.',
    ],
    [{ tail: { kind: 'pareto', alpha: 1 } }, 'tail.alpha', 'expected a number from 1.1 to 100, got 1.'],
    [
      { tail: { kind: 'outliers', share: 5, factor: 2 } },
      'tail.share',
      'expected a number from 0 to 1, got 5.',
    ],
    [
      { stalls: [{ at_ms: 5, ms: 0 }] },
      'stalls[0].ms',
      'expected a number above 0, at most 100000000000, got 0.',
    ],
    [{ hang: { ms: 5 } }, 'hang.at_ms', 'expected a number from 0 to 100000000000, got nothing.'],
    [{ known_curve: 5 }, 'known_curve', 'expected the name of a curve, a formula or a table, got 5.'],
    [{ measure_from_ms: -1 }, 'measure_from_ms', 'expected a number from 0 to 100000000000, got -1.'],
    [{ obeys_retry_after: 2 }, 'obeys_retry_after', 'expected a number from 0 to 1, got 2.'],
    [{ arrivals: undefined }, 'arrivals', 'expected an object, got nothing.'],
    [
      { arrivals: { rate: 5 } },
      'arrivals.kind',
      'expected one of poisson, lognormal, mmpp, on_off, fan_out, phases, closed, times, trace, got nothing.',
    ],
    [
      { arrivals: { kind: 'poison', rate: 5 } },
      'arrivals.kind',
      'unknown value "poison". Did you mean poisson? Known are poisson, lognormal, mmpp, on_off, fan_out, phases, closed, times, trace.',
    ],
    [
      { arrivals: { kind: 'toString' } },
      'arrivals.kind',
      'unknown value "toString". Known are poisson, lognormal, mmpp, on_off, fan_out, phases, closed, times, trace.',
    ],
    [
      { arrivals: { kind: 'poisson' } },
      'arrivals',
      'expected either rate (items per second) or load (1 is the maximum throughput), got neither.',
    ],
    [
      { arrivals: { kind: 'poisson', rate: 5, load: 1 } },
      'arrivals',
      'expected either rate (items per second) or load (1 is the maximum throughput), got both.',
    ],
    [
      { arrivals: { kind: 'poisson', rate: 5, sigma: 1 } },
      'arrivals',
      'unknown key "sigma". Known are kind, rate, load.',
    ],
    [
      { arrivals: { kind: 'mmpp', rate: 5 } },
      'arrivals.state_ms',
      'expected a number from 0.1 to 100000000000, got nothing.',
    ],
    [
      { arrivals: { kind: 'mmpp', rate: 5, state_ms: 5, high: 3 } },
      'arrivals.high',
      'expected a number from 1 to 2, got 3.',
    ],
    [
      { arrivals: { kind: 'phases', phases: [{ rate: 0, ms: 5 }] } },
      'arrivals.phases',
      'expected at least one phase with a rate above 0.',
    ],
    [
      { arrivals: { kind: 'phases', phases: [{ rate: 5 }] } },
      'arrivals.phases[0].ms',
      'expected a number from 0.1 to 100000000000, got nothing.',
    ],
    [
      { arrivals: { kind: 'closed', users: 0, think_ms: 1 } },
      'arrivals.users',
      'expected a whole number from 1 to 1000000, got 0.',
    ],
    [times(), 'arrivals.times', 'expected a list of times in milliseconds, got an empty list.'],
    [times(0, 12.5, 3), 'arrivals.times[2]', 'expected not less than the time before (12.5), got 3.'],
    [times(-1), 'arrivals.times[0]', 'expected milliseconds from 0 to 100000000000, got -1.'],
    [times(0, null), 'arrivals.times[1]', 'expected milliseconds from 0 to 100000000000, got null.'],
    [{ ...times(0, 1), items: 3 }, 'items', 'expected at most as many as there are times (2), got 3.'],
    [{ arrivals: { kind: 'trace' } }, 'arrivals.file', 'expected a string that is not empty, got nothing.'],
    [
      { arrivals: { kind: 'trace', file: 'gone.csv' } },
      'arrivals.file',
      'the trace cannot be read: no such file: gone.csv',
    ],
    [
      { arrivals: { kind: 'trace', file: 'unsorted.csv' } },
      'arrivals.file (unsorted.csv) line 3',
      'expected not less than the time before (5), got 3.',
    ],
    [
      { arrivals: { kind: 'trace', file: 'items.csv' }, groups: { a: 1 } },
      '',
      'expected no costs, groups, priorities, tenants beside a trace that has such columns.',
    ],
    [
      { arrivals: { kind: 'trace', file: 'items.csv' }, max_batch_size: 3 },
      'arrivals.file',
      'expected costs of at most max_batch_size (3), got 4 for arrival 2.',
    ],
    [
      { costs: { '1': 1, '65': 1 } },
      'costs',
      'expected a cost above 0, at most max_batch_size (64) as key, got the string "65".',
    ],
    [{ costs: { kind: 'normal' } }, 'costs.kind', 'expected "uniform", got the string "normal".'],
    [
      { costs: { kind: 'uniform', from: 4, to: 2 } },
      'costs.to',
      'expected a whole number from 4 to 64, got 2.',
    ],
    [{ groups: {} }, 'groups', 'expected 1 to 1000 values with their weights, got 0.'],
    [{ groups: { a: 0 } }, 'groups.a', 'expected a number above 0, at most 1000000000, got 0.'],
    [{ groups: ['a'] }, 'groups', 'expected an object, got a list of 1.'],
    [
      { priorities: { high: 1 } },
      'priorities',
      'expected a whole number from -100 to 100 as key, got the string "high".',
    ],
  ])('%j', (scenario, path, message) => {
    let error: unknown;
    try {
      parsed(scenario);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(ArenaError);
    expect(error).toMatchObject({
      name: 'ArenaError',
      code: 'INVALID_SCENARIO',
      path,
      message: `quiet.json: ${path === '' ? '' : `${path}: `}${message}`,
    });
  });
});
