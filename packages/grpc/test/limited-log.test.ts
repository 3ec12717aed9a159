import { VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import { limitedLog } from '../src/limited-log.js';

test('a flood of lines is cut, and its rest counted', async () => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const log = limitedLog(clock, (line) => lines.push(line));
  for (let i = 0; i < 100; i++) log(`line ${i}`);
  expect(lines.length).toBe(20);
  await clock.advance(10_000);
  log('later');
  expect(lines.slice(20)).toEqual(['80 further lines were left out', 'later']);
});
