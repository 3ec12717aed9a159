/** A generator that is itself the bottleneck must say so: its figures would pass for the target's. */
import { expect, test } from 'vitest';
import { makeReport } from '../src/report/make-report.js';
import { Recorder } from '../src/statistics/interval.js';
import { Statistics } from '../src/statistics/statistics.js';

const QUIET = { users: 0, inFlight: 0, connections: 1, cpuShare: 0.1, eventLoopMs: 1 };

function warnings(lateMs: number, gauges = QUIET): readonly string[] {
  const recorder = new Recorder(undefined);
  const times = { intendedAt: 0, sentAt: lateMs, endedAt: lateMs + 5 };
  for (let i = 0; i < 10; i++) recorder.record('a', { kind: 'ok', responseBytes: 1 }, times);
  const statistics = new Statistics();
  statistics.add(recorder.take(0, gauges));
  const traffic = { kind: 'arrivals', text: 'poisson 10/s' } as const;
  const facts = {
    state: 'ended',
    startedAt: new Date(0),
    seconds: 1,
    target: 'a',
    traffic,
    processes: 1,
  } as const;
  return makeReport(statistics, facts).warnings;
}

test('a generator with time to spare warns of nothing', () => expect(warnings(1)).toEqual([]));

test('requests that were sent late', () => {
  expect(warnings(40)).toEqual([
    'The generator sent requests 40 ms late on average: it has too little CPU time for this rate.',
  ]);
});

test('a busy core and a blocked event loop', () => {
  expect(warnings(0, { ...QUIET, cpuShare: 0.9, eventLoopMs: 120 })).toEqual([
    expect.stringContaining('used 90 % of a core'),
    expect.stringContaining('blocked for up to 120 ms'),
  ]);
});

test('responses that came after the end of the run, which make the goodput of an overloaded target too high', () => {
  const statistics = new Statistics();
  const recorder = new Recorder(undefined);
  for (const [second, ok] of [100, 100, 90].entries()) {
    const times = { intendedAt: 0, sentAt: 0, endedAt: 5 };
    for (let i = 0; i < ok; i++) recorder.record('a', { kind: 'ok', responseBytes: 1 }, times);
    statistics.add(recorder.take(second, QUIET));
  }
  const traffic = { kind: 'arrivals', text: 'poisson 200/s' } as const;
  const facts = { startedAt: new Date(0), seconds: 2.001, target: 'a', traffic, processes: 1 } as const;
  expect(makeReport(statistics, { ...facts, state: 'ended' }).warnings).toEqual([
    '31 % of the responses came after the end of the run: the goodput may be above what the target sustains. Use --target-latency-ms, or a longer --time.',
  ]);
  for (const seconds of [2.4, 3])
    expect(makeReport(statistics, { ...facts, seconds, state: 'ended' }).warnings).toEqual([]);
});
