import { type Clock, VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import { UntilReady } from '../../src/upstream/until-ready.js';

// It was asked once more with a millisecond left, and that no answer came in that time was all that was told.
test('a pause that ends too late is followed by no question, and what was said before is told', async () => {
  const clock = new VirtualClock();
  const late: Clock = {
    now: () => clock.now(),
    setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs + 5000),
    clearTimer: (timer) => clock.clearTimer(timer),
    defer: (callback) => clock.defer(callback),
  };
  let asked = 0;
  const peer = {
    checkReady: async () => {
      asked += 1;
      throw new Error(`no ${asked}`);
    },
  };
  const waiting = expect(new UntilReady(late, 2000).wait(peer)).rejects.toThrow('no 1');
  await clock.advance(10_000);
  await waiting;
  expect(asked).toBe(1);
});
