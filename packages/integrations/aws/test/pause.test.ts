import { VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import { pause } from '../src/index.js';

test('a pause ends with its timer', async () => {
  const clock = new VirtualClock();
  let isOver = false;
  const over = pause(clock, new AbortController().signal, (resume) => clock.setTimer(resume, 10)).then(() => {
    isOver = true;
  });
  await clock.advance(9);
  expect(isOver).toBe(false);
  await clock.advance(1);
  await over;
});

test.each(['before', 'during'])(
  'a signal that fires %s a pause ends it and clears its timer',
  async (when) => {
    const clock = new VirtualClock();
    const stop = new AbortController();
    let timerFired = false;
    if (when === 'before') stop.abort();
    const over = pause(clock, stop.signal, () =>
      clock.setTimer(() => {
        timerFired = true;
      }, 10),
    );
    stop.abort();
    await over;
    await clock.advance(20);
    expect(timerFired).toBe(false);
  },
);
