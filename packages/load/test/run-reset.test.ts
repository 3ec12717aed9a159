/** The figures of a run while it goes on, and when they are discarded. */
import { realClock } from 'batchwise';
import { expect, test } from 'vitest';
import { Run } from '../src/run/run.js';
import { Recorder } from '../src/statistics/interval.js';

const GAUGES = { users: 1, inFlight: 0, connections: 1, cpuShare: 0.1, eventLoopMs: 1 };

const SPEC = {
  work: { kind: 'target', target: { url: 'http://localhost:3000/' } },
  traffic: { kind: 'users', users: 1, spawnRate: 1, waitTime: { kind: 'constant', seconds: 0 } },
} as const;

test('rates of a run that goes on are those of the seconds that have been reported', () => {
  // Figures come once a second, and from other processes later: 3 s of requests were divided by 3.9 s.
  let now = 0;
  const run = new Run({
    spec: SPEC,
    target: 'a',
    hasShape: false,
    clock: { ...realClock, now: () => now },
    startAt: 0,
    startedAt: new Date(0),
  });
  const recorder = new Recorder(undefined);
  for (let second = 0; second < 3; second++) {
    for (let i = 0; i < 100; i++) {
      recorder.record('a', { kind: 'ok', responseBytes: 0 }, { intendedAt: 0, sentAt: 0, endedAt: 1 });
    }
    run.addInterval(recorder.take(second, GAUGES));
  }
  now = 3900;
  expect(run.report()).toMatchObject({ seconds: 3.9, total: { perSecond: 100, goodPerSecond: 100 } });
});

test('the wait time of a scenario is not said to be that of the flags', () => {
  const work = { kind: 'scenario', file: 'load.ts' } as const;
  const run = new Run({
    spec: { ...SPEC, work },
    target: 'load.ts',
    hasShape: false,
    clock: realClock,
    startAt: 0,
    startedAt: new Date(0),
  });
  expect(run.report().traffic).toMatchObject({ waitTime: 'of the scenario, else none' });
});

test('a reset begins the report anew, at a whole second of the run', () => {
  let now = 5000;
  const run = new Run({
    spec: SPEC,
    target: 'a',
    hasShape: false,
    clock: { ...realClock, now: () => now },
    startAt: 5000,
    startedAt: new Date(0),
  });
  const second = (number: number, ok: number) => {
    const recorder = new Recorder(undefined);
    for (let i = 0; i < ok; i++) {
      recorder.record('a', { kind: 'ok', responseBytes: 0 }, { intendedAt: 0, sentAt: 0, endedAt: 1 });
    }
    run.addInterval(recorder.take(number, GAUGES));
  };
  for (let number = 0; number < 6; number++) second(number, 100);
  now = 12_400;
  run.reset();
  expect(run.report()).toMatchObject({ seconds: expect.closeTo(0.4), total: { count: 0 }, series: [] });
  // Reported late by a process, after the reset.
  second(6, 100);
  second(7, 3);
  now = 13_000;
  const report = run.report();
  expect(report).toMatchObject({ seconds: 1, total: { count: 3, perSecond: 3 } });
  expect(report.series.map(({ second, ok }) => [second, ok])).toEqual([[0, 3]]);
  expect(report.startedAt).toBe(new Date(7000).toISOString());
  expect(run.state).toBe('running');
});
