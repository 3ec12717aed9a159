import { expect, test } from 'vitest';
import { OutagePause } from '../src/worker/outage-pause.js';

function staged({ isAway = false } = {}) {
  const heard: string[] = [];
  const listeners = new Set<() => void>();
  let outage = isAway ? new Error('away') : undefined;
  const outagePause = new OutagePause({
    availability: {
      get outage() {
        return outage;
      },
      onChange(listener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    },
    processor: {
      async pause() {
        heard.push('pause');
      },
      resume: () => void heard.push('resume'),
    },
    note: (line) => heard.push(line),
  });
  const become = (next: Error | undefined) => {
    outage = next;
    for (const listener of listeners) listener();
  };
  return { heard, outagePause, goes: () => become(new Error('away')), comes: () => become(undefined) };
}

const TAKES_NOTHING = 'Takes nothing from the queue until its backend answers again.';
const TAKES_AGAIN = 'Takes items from the queue again.';

test('an outage is told once, however often it is tried in vain, and over with the first answer', () => {
  const { heard, outagePause, goes, comes } = staged();
  outagePause.answered();
  goes();
  outagePause.answered(); // what was under way
  comes();
  goes();
  comes();
  outagePause.answered();
  outagePause.answered();
  expect(heard).toEqual([
    ...['resume', 'pause', TAKES_NOTHING],
    ...['resume', 'pause', 'resume', TAKES_AGAIN],
  ]);
  heard.length = 0;
  goes();
  expect(heard).toEqual(['pause', TAKES_NOTHING]);
});

test('one that is away at the start is noticed; one that is stopped pauses nothing any more', () => {
  const { heard, outagePause, goes, comes } = staged({ isAway: true });
  expect(heard).toEqual(['pause', TAKES_NOTHING]);
  outagePause.stop();
  comes();
  goes();
  expect(heard.length).toBe(2);
});
