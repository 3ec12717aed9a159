import { VirtualClock } from 'batchwise';
import { describe, expect, test } from 'vitest';
import type { RunSpec } from '../src/run/load-run.js';
import { startRun } from '../src/run/start-run.js';
import { TargetWork } from '../src/run/target-work.js';
import type { UsersTraffic, WaitTime } from '../src/run/traffic.js';
import { Users } from '../src/run/users.js';
import { Recorder } from '../src/statistics/interval.js';
import { VirtualTarget } from './support/virtual-target.js';

const NO_WAIT: WaitTime = { kind: 'constant', seconds: 0 };

function specOf(traffic: Omit<UsersTraffic, 'kind'>, seconds?: number): RunSpec {
  return {
    work: { kind: 'target', target: { url: 'http://localhost:1/virtual' } },
    traffic: { kind: 'users', ...traffic },
    ...(seconds !== undefined && { seconds }),
  };
}

describe('the closed model', () => {
  test('starts users at the spawn rate, each with one request in flight', async () => {
    const clock = new VirtualClock();
    const target = new VirtualTarget(clock, () => 100);
    const run = await startRun(specOf({ users: 20, spawnRate: 10, waitTime: NO_WAIT }, 4), {
      clock,
      createWork: target.createWork,
    });
    await clock.advance(950);
    expect(target.inFlight).toBe(10);
    await clock.advance(4000);
    const { series, total } = await run.ended;
    expect(series.map(({ users }) => users)).toEqual([10, 20, 20, 20, 0]);
    expect(target.mostInFlight).toBe(20);
    expect(total.count).toBe(target.sent.length);
    expect(total.latency.max).toBe(100);
  });

  test('setUsers starts and stops users at the new rate while the run goes on', async () => {
    const clock = new VirtualClock();
    const target = new VirtualTarget(clock, () => 10);
    const run = await startRun(specOf({ users: 10, spawnRate: 1000, waitTime: NO_WAIT }), {
      clock,
      createWork: target.createWork,
    });
    await clock.advance(995);
    expect(target.inFlight).toBe(10);
    run.setUsers(30, 10);
    await clock.advance(950);
    expect(target.inFlight).toBe(20);
    await clock.advance(50);
    run.setUsers(4, 8);
    await clock.advance(995);
    expect(target.inFlight).toBe(14);
    await clock.advance(5000);
    expect(target.inFlight).toBe(4);
    expect(run.report().traffic).toMatchObject({ users: 4, spawnRate: 8 });
    expect(() => run.setUsers(-1, 8)).toThrow('users: expected a whole number from 0');
    const stopped = run.stop();
    await clock.advance(20);
    await stopped;
    expect(target.inFlight).toBe(0);
  });

  test('calls of setUsers that follow each other do not exceed the spawn rate', async () => {
    const clock = new VirtualClock();
    const target = new VirtualTarget(clock, () => 10_000);
    const run = await startRun(specOf({ users: 0, spawnRate: 1, waitTime: NO_WAIT }), {
      clock,
      createWork: target.createWork,
    });
    for (let i = 0; i < 100; i++) {
      run.setUsers(100, 5);
      await clock.advance(10);
    }
    expect(target.inFlight).toBe(6);
    void run.stop();
    await clock.advance(10_000);
    await run.ended;
  });

  test('a user pauses between min and max seconds after each response', async () => {
    const clock = new VirtualClock();
    const target = new VirtualTarget(clock, () => 100);
    const run = await startRun(
      specOf({ users: 1, spawnRate: 1, waitTime: { kind: 'between', min: 0.5, max: 1.5 } }, 120),
      { clock, createWork: target.createWork },
    );
    await clock.advance(121_000);
    await run.ended;
    const pauses = target.sent.slice(1).map(({ at }, i) => at - (target.sent[i]?.at ?? 0) - 100);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(500);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(1500);
    expect(Math.max(...pauses) - Math.min(...pauses)).toBeGreaterThan(850);
    const mean = pauses.reduce((sum, pause) => sum + pause, 0) / pauses.length;
    expect(Math.abs(mean - 1000)).toBeLessThan(100);
  });

  test('pacing starts a task every so often, and at once after one that took longer', async () => {
    const clock = new VirtualClock();
    const target = new VirtualTarget(clock, (at) => (at === 2000 ? 1500 : 300));
    const run = await startRun(
      specOf({ users: 1, spawnRate: 1, waitTime: { kind: 'pacing', seconds: 1 } }, 5.2),
      { clock, createWork: target.createWork },
    );
    await clock.advance(6000);
    const { total } = await run.ended;
    expect(target.sent.map(({ at }) => at)).toEqual([0, 1000, 2000, 3500, 4500]);
    expect(total.intended.max).toBe(1500);
  });

  test('the report of a stopped user that paused has no request of it after the stop', async () => {
    const clock = new VirtualClock();
    const target = new VirtualTarget(clock);
    const run = await startRun(
      specOf({ users: 100, spawnRate: 1e6, waitTime: { kind: 'constant', seconds: 60 } }),
      { clock, createWork: target.createWork },
    );
    await clock.advance(30_000);
    await run.stop();
    expect(run.report()).toMatchObject({ state: 'ended', seconds: 30, total: { count: 100 } });
    await clock.advance(60_000);
    expect(target.sent).toHaveLength(100);
    expect(clock.pendingTimers).toBe(0);
  });

  test('a user that is stopped in a pause sends no more', async () => {
    const clock = new VirtualClock();
    const target = new VirtualTarget(clock);
    const run = await startRun(
      specOf({ users: 10, spawnRate: 1000, waitTime: { kind: 'constant', seconds: 2 } }),
      { clock, createWork: target.createWork },
    );
    await clock.advance(1000);
    run.setUsers(3, 1000);
    await clock.advance(2000);
    expect(target.sent).toHaveLength(13);
    await run.stop();
  });

  test('a shape sets users every second, and ends the run', async () => {
    const clock = new VirtualClock();
    const target = new VirtualTarget(clock, () => 10);
    const elapsed: number[] = [];
    const run = await startRun(specOf({ users: 1, spawnRate: 1, waitTime: NO_WAIT }), {
      clock,
      createWork: async (spec, context) => ({
        ...(await target.createWork(spec, context)),
        shape: {
          at: (seconds) => {
            elapsed.push(seconds);
            return seconds >= 6 ? null : { users: seconds < 3 ? 10 * (seconds + 1) : 5, spawnRate: 100 };
          },
        },
      }),
    });
    await clock.advance(6100);
    const { series, traffic, seconds } = await run.ended;
    expect(elapsed).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(series.slice(0, 6).map(({ users }) => users)).toEqual([10, 20, 30, 5, 5, 5]);
    expect({ seconds, traffic }).toMatchObject({ seconds: 6, traffic: { users: 30 } });
  });

  test('the users of several processes add up at every moment', async () => {
    const clock = new VirtualClock();
    const target = new VirtualTarget(clock, () => Number.POSITIVE_INFINITY);
    const parts = [0, 1, 2].map((index) => {
      const share = { index, count: 3 };
      const work = new TargetWork(target, new Recorder(undefined), clock, share);
      return new Users({ clock, work, share, seed: 1, waitTime: NO_WAIT });
    });
    const present = () => parts.map(({ count }) => count);
    for (const part of parts) part.set(10, 5);
    await clock.advance(1);
    expect(present()).toEqual([1, 0, 0]);
    await clock.advance(600);
    expect(present()).toEqual([2, 1, 1]);
    await clock.advance(2000);
    expect(present()).toEqual([4, 3, 3]);
    for (const part of parts) part.set(5, 1000);
    await clock.advance(1100);
    // Those that are to stop have a request in flight.
    target.endAll();
    await clock.settle();
    expect(present()).toEqual([2, 2, 1]);
  });
});
