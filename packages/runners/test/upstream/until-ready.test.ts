import { type Clock, VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import { UntilReady } from '../../src/upstream/until-ready.js';

// Root cause: the last check had only a millisecond left, and its timeout replaced the real error.
test('no check follows a pause that ends after the deadline, and the last error is thrown', async () => {
  const clock = new VirtualClock();
  const slowClock: Clock = {
    now: () => clock.now(),
    setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs + 5000),
    clearTimer: (timer) => clock.clearTimer(timer),
    defer: (callback) => clock.defer(callback),
  };
  let checks = 0;
  const peer = {
    checkReady: async () => {
      checks += 1;
      throw new Error(`no ${checks}`);
    },
  };
  const waiting = expect(new UntilReady(slowClock, 2000).wait(peer)).rejects.toThrow('no 1');
  await clock.advance(10_000);
  await waiting;
  expect(checks).toBe(1);
});
