/** What the forms of the load page send, made into a run. */
import { describe, expect, test } from 'vitest';
import { runSpecOf, usersOf } from '../src/page/start-request.js';
import type { RunSpec } from '../src/run/load-run.js';

const INITIAL: RunSpec = {
  work: { kind: 'target', target: { url: 'http://localhost:3000/a', headers: { 'x-key': '1' } } },
  traffic: { kind: 'users', users: 10, spawnRate: 5, waitTime: { kind: 'constant', seconds: 1 } },
  seconds: 60,
  targetLatencyMs: 100,
  failIf: ['p99 > 100ms'],
  processes: 2,
};

describe('a run from the form', () => {
  test('has what the form says, and the rest from the command line', () => {
    const waitTime = { kind: 'between', min: 0.01, max: 2 } as const;
    const body = { url: 'http://localhost:4000/b', users: 40, spawn_rate: 8, wait_time: waitTime };
    expect(runSpecOf(body, INITIAL)).toEqual({
      work: { kind: 'target', target: { url: 'http://localhost:4000/b', headers: { 'x-key': '1' } } },
      traffic: { kind: 'users', users: 40, spawnRate: 8, waitTime },
      failIf: ['p99 > 100ms'],
      processes: 2,
    });
  });

  test('without a URL, a wait time and a spawn rate keeps those of the command line, and starts all users at once', () => {
    const { work, traffic } = runSpecOf({ users: 7, seconds: 5, target_latency_ms: 20 }, INITIAL);
    expect(work).toBe(INITIAL.work);
    expect(traffic).toEqual({ ...INITIAL.traffic, users: 7, spawnRate: 7 });
  });

  test.each([
    [
      { kind: 'poisson', per_second: 8 },
      { kind: 'poisson', perSecond: 8 },
    ],
    [
      { kind: 'gamma', per_second: 8, variation: 2 },
      { kind: 'gamma', perSecond: 8, variation: 2 },
    ],
    [
      { kind: 'steps', steps: [{ per_second: 1, seconds: 2 }] },
      { kind: 'steps', steps: [{ perSecond: 1, seconds: 2 }] },
    ],
    [
      { kind: 'ramp', from: 1, to: 9, seconds: 4 },
      { kind: 'ramp', from: 1, to: 9, seconds: 4 },
    ],
  ])('may have arrivals %j', (arrivals, schedule) => {
    const { traffic } = runSpecOf({ arrivals, max_in_flight: 50 }, INITIAL);
    expect(traffic).toEqual({ kind: 'arrivals', schedule, maxInFlight: 50 });
  });

  test('plays the trace of the command line again, and no other', () => {
    const schedule = { kind: 'trace', name: 'a.csv', timesMs: [1, 2] } as const;
    const initial: RunSpec = { ...INITIAL, traffic: { kind: 'arrivals', schedule, maxInFlight: 9 } };
    const body = { arrivals: { kind: 'trace' } };
    expect(runSpecOf(body, initial).traffic).toEqual(initial.traffic);
    expect(() => runSpecOf(body, INITIAL)).toThrow('expected a trace on the command line');
  });

  test('of a scenario has the URL as its host', () => {
    const work = { kind: 'scenario', file: 'load.ts', host: 'http://localhost:1', tags: ['a'] } as const;
    const initial: RunSpec = { ...INITIAL, work };
    expect(runSpecOf({ users: 1, url: 'http://localhost:2' }, initial).work).toEqual({
      ...work,
      host: 'http://localhost:2',
    });
    expect(runSpecOf({ users: 1 }, initial).work).toEqual({ kind: 'scenario', file: 'load.ts', tags: ['a'] });
  });
});

test.each([
  [null, 'expected object'],
  [{}, 'expected either users'],
  [{ users: 1, arrivals: { kind: 'poisson', per_second: 1 } }, 'expected either users'],
  [{ users: 'many' }, 'users: expected a number, got "many"'],
  [{ users: 1, spawnRate: 2 }, 'unknown key spawnRate'],
  [{ users: 1, wait_time: { kind: 'between', min: -1, max: 2 } }, 'wait_time.min'],
  [{ users: 1, max_in_flight: 2 }, 'max_in_flight'],
  [{ arrivals: { kind: 'poisson' } }, 'arrivals.per_second: expected a number'],
  [{ arrivals: { kind: 'sometimes' } }, 'expected constant, poisson'],
  [{ arrivals: { kind: 'poisson', per_second: 1 }, spawn_rate: 2 }, 'which belong to users'],
])('%j is invalid', (body, message) => {
  expect(() => runSpecOf(body, INITIAL)).toThrow(message);
});

test('users of a run are numbers', () => {
  expect(usersOf({ users: 0, spawn_rate: 1.5 })).toEqual({ users: 0, spawnRate: 1.5 });
  expect(() => usersOf({ users: 1 })).toThrow('spawn_rate: expected a number, got nothing');
});
