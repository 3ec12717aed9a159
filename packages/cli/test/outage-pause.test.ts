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

const PAUSED = 'The backend is unavailable. Fetching no items from the queue until it answers.';
const RESUMED = 'Fetching items from the queue again.';

test('an outage is logged once, and ends with the first answer', () => {
  const { heard, outagePause, goes, comes } = staged();
  outagePause.answered();
  goes();
  outagePause.answered(); // of items in flight
  comes();
  goes();
  comes();
  outagePause.answered();
  outagePause.answered();
  expect(heard).toEqual([...['resume', 'pause', PAUSED], ...['resume', 'pause', 'resume', RESUMED]]);
  heard.length = 0;
  goes();
  expect(heard).toEqual(['pause', PAUSED]);
});

test('detects an outage at the start; does not pause after stop()', () => {
  const { heard, outagePause, goes, comes } = staged({ isAway: true });
  expect(heard).toEqual(['pause', PAUSED]);
  outagePause.stop();
  comes();
  goes();
  expect(heard.length).toBe(2);
});
