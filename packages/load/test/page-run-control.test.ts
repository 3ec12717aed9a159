/** The run of a load page, and how little of a long run is sent each second. */
import { expect, test } from 'vitest';
import { RunControl } from '../src/page/run-control.js';
import type { LoadReport, RunState } from '../src/report/load-report.js';
import { makeReport } from '../src/report/make-report.js';
import type { LoadRun, RunSpec } from '../src/run/load-run.js';
import { Recorder } from '../src/statistics/interval.js';
import { Statistics } from '../src/statistics/statistics.js';

const SPEC: RunSpec = {
  work: { kind: 'target', target: { url: 'http://localhost:3000/a', headers: { 'x-key': 'secret' } } },
  traffic: { kind: 'users', users: 4, spawnRate: 2, waitTime: { kind: 'constant', seconds: 0 } },
};
const GAUGES = { users: 4, inFlight: 1, connections: 4, cpuShare: 0.1, eventLoopMs: 1 };

/** A run whose outcomes the test decides. */
class ScriptedRun implements LoadRun {
  state: RunState = 'running';
  readonly spec: RunSpec;
  resets = 0;
  readonly arrivals: number[] = [];
  readonly users: [number, number][] = [];
  readonly ended: Promise<LoadReport>;
  readonly #statistics = new Statistics();
  #lasts = 1;
  #end: (report: LoadReport) => void = () => {};

  constructor(spec: RunSpec) {
    this.spec = spec;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  second(second: number, reasons: readonly string[] = []): void {
    const recorder = new Recorder(undefined);
    const times = { intendedAt: 0, sentAt: 0, endedAt: 5 };
    recorder.record('a', { kind: 'ok', responseBytes: 1 }, times);
    for (const reason of reasons) {
      recorder.record('a', { kind: 'failed', reason, responseBytes: 0 }, times);
    }
    this.#statistics.add(recorder.take(second, GAUGES));
  }

  /** So many seconds, all like the first. */
  lastFor(seconds: number): void {
    this.#lasts = seconds;
  }

  report(): LoadReport {
    const report = makeReport(this.#statistics, {
      state: this.state,
      startedAt: new Date(0),
      seconds: this.#lasts,
      target: 'a',
      traffic: { kind: 'users', users: 4, spawnRate: 2, waitTime: 'none' },
      processes: 1,
    });
    const series = report.series.flatMap((point) =>
      Array.from({ length: this.#lasts }, (_, second) => ({ ...point, second })),
    );
    return { ...report, series };
  }

  reset(): void {
    this.resets++;
  }

  setUsers(users: number, spawnRate: number): void {
    this.users.push([users, spawnRate]);
  }

  async stop(): Promise<void> {
    this.state = 'ended';
    this.#end(this.report());
  }
}

function scripted(): { control: RunControl; runs: ScriptedRun[] } {
  const runs: ScriptedRun[] = [];
  const start = async (spec: RunSpec) => {
    const run = new ScriptedRun(spec);
    runs.push(run);
    return run;
  };
  return { control: new RunControl(SPEC, start), runs };
}

test('one run at a time: started, changed, stopped, discarded', async () => {
  const { control, runs } = scripted();
  expect(control.state(0, 0)).toMatchObject({ run: 0, state: 'ready' });
  expect([control.stop(), control.setUsers(1, 1)]).toEqual([
    'No run is in progress.',
    'No run is in progress.',
  ]);

  const starting = control.start(SPEC);
  expect(control.state(0, 0).state).toBe('starting');
  expect(await control.start(SPEC)).toContain('already starting');
  expect(await starting).toBeUndefined();
  expect(control.state(0, 0)).toMatchObject({ run: 1, state: 'running' });
  expect(await control.start(SPEC)).toContain('Stop it first');
  expect(control.setUsers(9, 3)).toBeUndefined();
  expect(runs[0]?.users).toEqual([[9, 3]]);

  expect(control.stop()).toBeUndefined();
  expect(control.state(0, 0).state).toBe('ended');
  expect(control.setUsers(9, 3)).toBe('No run is in progress.');
  expect(control.reset()).toBeUndefined();
  expect(control.state(0, 0)).toMatchObject({ run: 1, state: 'ready' });
  expect(control.report).toBeUndefined();
  expect(await control.start(SPEC)).toBeUndefined();
  expect(control.state(0, 0).run).toBe(2);
});

test('a reset discards the figures of a run that goes on', async () => {
  const { control, runs } = scripted();
  await control.start(SPEC);
  expect(control.reset()).toBeUndefined();
  expect(runs[0]?.resets).toBe(1);
  expect(control.state(1, 0)).toMatchObject({ run: 2, state: 'running' });
});

test('a run that is being started ends when the page is closed', async () => {
  const { control, runs } = scripted();
  const starting = control.start(SPEC);
  expect((await control.close())?.state).toBe('ended');
  await starting;
  expect(runs[0]?.state).toBe('ended');
  expect(await control.start(SPEC)).toContain('is closing');
});

test('a run that cannot be started leaves the one before', async () => {
  let isBroken = false;
  const control = new RunControl(SPEC, async (spec) => {
    if (isBroken) throw new Error('unreachable');
    return new ScriptedRun(spec);
  });
  await control.start(SPEC);
  control.stop();
  isBroken = true;
  await expect(control.start(SPEC)).rejects.toThrow('unreachable');
  expect(control.state(0, 0)).toMatchObject({ run: 1, state: 'ended' });
});

test('a run with arrivals has no users to change', async () => {
  const { control } = scripted();
  const schedule = { kind: 'poisson', perSecond: 1 } as const;
  await control.start({ ...SPEC, traffic: { kind: 'arrivals', schedule, maxInFlight: 1 } });
  expect(control.setUsers(1, 1)).toContain('no users');
});

test('a page that knows a run gets only the seconds that it lacks', async () => {
  const { control, runs } = scripted();
  await control.start(SPEC);
  runs[0]?.second(0);
  runs[0]?.lastFor(5000);
  const seconds = (run: number, since: number) =>
    control.state(run, since).report?.series.map(({ second }) => second) ?? [];
  expect(seconds(1, 4997)).toEqual([4997, 4998, 4999]);
  // Of another run, all; of a long run, the last hour.
  expect(seconds(0, 4997)).toHaveLength(3600);
  expect(seconds(0, 4997)[0]).toBe(1400);
});

test('rare reasons of failures are counted, not sent', async () => {
  const { control, runs } = scripted();
  await control.start(SPEC);
  const reasons = Array.from({ length: 130 }, (_, i) => `reason ${i}`);
  runs[0]?.second(0, [...reasons, 'frequent', 'frequent']);
  const { report, failuresLeftOut } = control.state(1, 0);
  expect(report?.failures).toHaveLength(100);
  expect(report?.failures[0]).toMatchObject({ reason: 'frequent', count: 2 });
  expect(failuresLeftOut).toBe(31);
});

test('the form is told neither headers nor the times of a trace', async () => {
  const schedule = { kind: 'trace', name: 'a.csv', timesMs: [123_456] } as const;
  const spec: RunSpec = { ...SPEC, traffic: { kind: 'arrivals', schedule, maxInFlight: 5 } };
  const { setup } = new RunControl(spec, async () => new ScriptedRun(spec)).state(0, 0);
  expect(setup).toEqual({
    work: { kind: 'target', url: 'http://localhost:3000/a' },
    traffic: { kind: 'arrivals', schedule: { kind: 'trace', name: 'a.csv' }, maxInFlight: 5 },
  });
});
