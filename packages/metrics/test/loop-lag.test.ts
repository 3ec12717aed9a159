import { VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import { LoopLag } from '../src/loop-lag.js';
import { StillMonitor } from './support/still-monitor.js';

function watched() {
  const clock = new VirtualClock();
  const monitor = new StillMonitor();
  return { clock, monitor, loopLag: new LoopLag(monitor, clock) };
}

test('the lag is 0 before the first measurement', () => {
  expect(watched().loopLag.read()).toEqual({ p50: 0, p99: 0, max: 0 });
});

test('the interval of the monitor is not counted as lag', () => {
  const { monitor, loopLag } = watched();
  monitor.measured(-0.001, 0, 0.25);
  expect(loopLag.read()).toEqual({ p50: 0, p99: 0, max: 0.25 });
});

test('a lag is reported for at least ten seconds, however often it is read', async () => {
  const { clock, monitor, loopLag } = watched();
  monitor.measured(0.25, 0.5, 1);
  for (let second = 0; second < 20; second++) {
    expect(loopLag.read(), `after ${second} s`).toEqual({ p50: 0.25, p99: 0.5, max: 1 });
    await clock.advance(1000);
  }
  expect(monitor.resets).toBe(1);
  loopLag.read(); // the window in which nothing was measured ends here
  expect(loopLag.read()).toEqual({ p50: 0, p99: 0, max: 0 });
});

test('reports the maximum of the current and the previous window', async () => {
  const { clock, monitor, loopLag } = watched();
  monitor.measured(0.25, 0.5, 1);
  await clock.advance(15_000);
  loopLag.read();
  monitor.measured(0.5, 0.5, 0.5);
  expect(loopLag.read()).toEqual({ p50: 0.5, p99: 0.5, max: 1 });
});

test('the real monitor measures a blocked loop, and stops', async () => {
  const loopLag = new LoopLag();
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  const deadline = performance.now() + 10_000;
  while (loopLag.read().max === 0 && performance.now() < deadline) {
    const until = performance.now() + 60;
    while (performance.now() < until);
    await turn();
  }
  expect(loopLag.read().max).toBeGreaterThan(0);
  loopLag.stop();
});
