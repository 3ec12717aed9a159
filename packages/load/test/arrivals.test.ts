import { type Clock, VirtualClock } from 'batchwise';
import { describe, expect, test } from 'vitest';
import type { LoadReport } from '../src/report/load-report.js';
import { arrivalTimes } from '../src/run/arrival-times.js';
import { Arrivals } from '../src/run/arrivals.js';
import type { RunSpec } from '../src/run/load-run.js';
import { startRun } from '../src/run/start-run.js';
import { TargetWork } from '../src/run/target-work.js';
import type { ArrivalSchedule } from '../src/run/traffic.js';
import { Recorder } from '../src/statistics/interval.js';
import { VirtualTarget } from './support/virtual-target.js';

function specOf(schedule: ArrivalSchedule, seconds: number | undefined, maxInFlight = 1_000_000): RunSpec {
  return {
    work: { kind: 'target', target: { url: 'http://localhost:1/virtual' } },
    traffic: { kind: 'arrivals', schedule, maxInFlight },
    ...(seconds !== undefined && { seconds }),
  };
}

async function played(
  clock: VirtualClock,
  target: VirtualTarget,
  spec: RunSpec,
  ms: number,
): Promise<LoadReport> {
  const run = await startRun(spec, { clock, createWork: target.createWork });
  await clock.advance(ms);
  return run.ended;
}

/** Timers of the clock below, each late by some milliseconds. */
function lateClock(clock: VirtualClock, lateMs: number): Clock {
  return {
    now: () => clock.now(),
    setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs + lateMs),
    clearTimer: (timer) => clock.clearTimer(timer),
    defer: (callback) => clock.defer(callback),
  };
}

/** A clock whose time passes with the work that is done, as that of a process without an idle moment. */
class BusyClock implements Clock {
  #now = 0;
  #timers: { readonly at: number; readonly callback: () => void }[] = [];
  #deferred: (() => void)[] = [];

  now(): number {
    return this.#now;
  }

  spend(ms: number): void {
    this.#now += ms;
  }

  setTimer(callback: () => void, delayMs: number): unknown {
    const timer = { at: this.#now + delayMs, callback };
    this.#timers.push(timer);
    return timer;
  }

  clearTimer(timer: unknown): void {
    this.#timers = this.#timers.filter((one) => one !== timer);
  }

  defer(callback: () => void): void {
    this.#deferred.push(callback);
  }

  /** Turns of an event loop, until there is nothing left to do. */
  runAll(): void {
    while (this.#timers.length + this.#deferred.length > 0) {
      for (const callback of this.#deferred.splice(0)) callback();
      this.#timers.sort((a, b) => a.at - b.at);
      const [first] = this.#timers;
      if (this.#deferred.length === 0 && first !== undefined) this.#now = Math.max(this.#now, first.at);
      for (const timer of this.#timers.filter(({ at }) => at <= this.#now)) {
        if (!this.#timers.includes(timer)) continue;
        this.clearTimer(timer);
        timer.callback();
      }
    }
  }
}

describe('the open model', () => {
  test('sends exactly the arrivals of its seconds, each at its time', async () => {
    const clock = new VirtualClock();
    await clock.advance(12_345);
    const target = new VirtualTarget(clock);
    const report = await played(clock, target, specOf({ kind: 'constant', perSecond: 100 }, 3), 3100);
    expect(target.sent).toHaveLength(300);
    expect(target.sent.map(({ number }) => number)).toEqual(Array.from({ length: 300 }, (_, i) => i));
    expect(target.sent.every(({ at, number }) => Math.abs(at - 12_345 - 10 * number) < 1e-6)).toBe(true);
    expect(report).toMatchObject({
      state: 'ended',
      seconds: 3,
      total: { count: 300, ok: 300 },
      arrivals: { due: 300, sent: 300, notSent: 0, achievedPerSecond: 100, isKept: true },
      traffic: { kind: 'arrivals', text: 'constant 100/s', perSecond: 100 },
    });
    expect(report.series.map(({ arrivals }) => arrivals.sent)).toEqual([100, 100, 100]);
  });

  test('keeps the rate with timers that are late, and measures from the intended time', async () => {
    const clock = new VirtualClock();
    const late = lateClock(clock, 7);
    const target = new VirtualTarget(clock, () => 50);
    const run = await startRun(specOf({ kind: 'constant', perSecond: 1000 }, 2), {
      clock: late,
      createWork: target.createWork,
    });
    await clock.advance(3000);
    const { total, arrivals } = await run.ended;
    expect(arrivals).toMatchObject({ due: 2000, sent: 2000 });
    expect(target.sent.every(({ at, number }) => at >= number && at <= number + 9)).toBe(true);
    expect(total.latency.max).toBe(50);
    expect(total.intended.max).toBeGreaterThanOrEqual(57);
    expect(total.intended.max).toBeLessThan(60);
  });

  test('a stall of a second shows in the p99 and the maximum from the intended start', async () => {
    const clock = new VirtualClock();
    // One request at a time, 1 ms each, and a stop from 2000 to 3000 ms.
    let freeAt = 0;
    const target = new VirtualTarget(clock, (at) => {
      let start = Math.max(freeAt, at);
      if (start >= 2000 && start < 3000) start = 3000;
      freeAt = start + 1;
      return freeAt - at;
    });
    const spec = specOf({ kind: 'constant', perSecond: 200 }, 10);
    const { total, series } = await played(clock, target, spec, 11_000);
    expect(total.count).toBe(2000);
    expect(total.intended.max).toBeCloseTo(1001, 0);
    expect(total.intended.p99).toBeGreaterThan(900);
    expect(total.intended.p50).toBeLessThan(2);
    expect(series[2]?.ok).toBe(0);
    expect(series[3]?.intendedMaxMs).toBeCloseTo(1001, 0);
  });

  test('with a limit, a stall hides from the actual start and not from the intended one', async () => {
    const clock = new VirtualClock();
    const late = lateClock(clock, 0);
    // The generator itself is stopped: its timers fire after the stall.
    const setTimer = (callback: () => void, delayMs: number) => {
      const at = clock.now() + delayMs;
      return clock.setTimer(callback, at >= 2000 && at < 3000 ? 3000 - clock.now() : delayMs);
    };
    const target = new VirtualTarget(clock, () => 1);
    const run = await startRun(specOf({ kind: 'constant', perSecond: 100 }, 5), {
      clock: { ...late, setTimer },
      createWork: target.createWork,
    });
    await clock.advance(6000);
    const { total } = await run.ended;
    expect(total.latency.max).toBe(1);
    expect(total.intended.max).toBeGreaterThan(990);
    expect(total.intended.p90).toBeGreaterThan(400);
  });

  test('arrivals beyond the limit of requests in flight are counted as not sent', async () => {
    const clock = new VirtualClock();
    const target = new VirtualTarget(clock, () => 100);
    const report = await played(clock, target, specOf({ kind: 'constant', perSecond: 100 }, 2, 5), 2200);
    expect(target.mostInFlight).toBe(5);
    const { due, sent, notSent, isKept } = report.arrivals ?? {};
    expect({ due, sent, notSent, isKept }).toEqual({ due: 200, sent: 100, notSent: 100, isKept: false });
    expect(report.warnings.join()).toContain('100 arrivals could not be sent');
  });

  test('a generator that is too slow reads responses in between, and counts what it could not send', async () => {
    const clock = new BusyClock();
    // Each request costs the generator 2 ms, five times what the rate leaves.
    const target = new VirtualTarget(clock, () => {
      clock.spend(2);
      return 0;
    });
    const run = await startRun(specOf({ kind: 'constant', perSecond: 2500 }, 1), {
      clock,
      createWork: target.createWork,
    });
    clock.runAll();
    const { arrivals, seconds } = await run.ended;
    expect(arrivals?.due).toBe(2500);
    expect(arrivals?.notSent).toBeGreaterThan(1000);
    expect(target.sent).toHaveLength(arrivals?.sent ?? 0);
    expect(target.mostInFlight).toBeLessThan(200);
    expect(seconds).toBeLessThan(1.2);
  });

  test('every process has its arrivals, and together they are the whole schedule', async () => {
    const schedule = { kind: 'gamma', perSecond: 400, variation: 2 } as const;
    const sentBy = async (index: number, count: number) => {
      const clock = new VirtualClock();
      const target = new VirtualTarget(clock);
      const recorder = new Recorder(undefined);
      const share = { index, count };
      const arrivals = new Arrivals({
        clock,
        share,
        recorder,
        work: new TargetWork(target, recorder, clock, share),
        times: arrivalTimes(schedule, 5),
        maxInFlight: 1000,
        startAt: 0,
        endAt: 3000,
        onDone: () => {},
        onLast: () => {},
      });
      arrivals.start();
      await clock.advance(3100);
      return target.sent;
    };
    const whole = await sentBy(0, 1);
    const parts = [...(await sentBy(0, 3)), ...(await sentBy(1, 3)), ...(await sentBy(2, 3))];
    expect(whole.length).toBeGreaterThan(800);
    expect(parts.sort((a, b) => a.number - b.number)).toEqual(whole);
  });

  test('a trace ends the run', async () => {
    const clock = new VirtualClock();
    const target = new VirtualTarget(clock, () => 30);
    const schedule = { kind: 'trace', name: 'a.csv', timesMs: [5, 5, 40, 1500] } as const;
    const report = await played(clock, target, specOf(schedule, undefined), 2000);
    expect(target.sent.map(({ at }) => at)).toEqual([5, 5, 40, 1500]);
    expect(report).toMatchObject({ state: 'ended', seconds: 1.5, total: { ok: 4 } });
  });

  test('requests without a response are failed when the time for them is up', async () => {
    const clock = new VirtualClock();
    const target = new VirtualTarget(clock, (at) => (at < 500 ? 1 : Number.POSITIVE_INFINITY));
    const spec = { ...specOf({ kind: 'constant', perSecond: 10 }, 1), stopSeconds: 2 };
    const run = await startRun(spec, { clock, createWork: target.createWork });
    await clock.advance(2900);
    expect(run.state).toBe('stopping');
    expect(run.report()).toMatchObject({ seconds: 1, total: { count: 5 } });
    await clock.advance(200);
    const { total, failures, seconds } = await run.ended;
    expect({ ok: total.ok, failed: total.failed, seconds }).toEqual({ ok: 5, failed: 5, seconds: 1 });
    expect(failures).toEqual([
      { name: 'POST /virtual', kind: 'failed', reason: 'no response when the run ended', count: 5 },
    ]);
    expect(total.others.max).toBe(2500);
  });

  test('stop() waits for the responses of requests in flight', async () => {
    const clock = new VirtualClock();
    const target = new VirtualTarget(clock, () => 300);
    const run = await startRun(specOf({ kind: 'constant', perSecond: 10 }, undefined), {
      clock,
      createWork: target.createWork,
    });
    await clock.advance(1050);
    const stopped = run.stop();
    await clock.advance(400);
    await stopped;
    expect(await run.ended).toMatchObject({ seconds: 1.05, total: { ok: 11, failed: 0 } });
    expect(clock.pendingTimers).toBe(0);
  });
});
