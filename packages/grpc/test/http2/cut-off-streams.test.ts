import { expect, test } from 'vitest';
import { CutOffStreams } from '../../src/http2/cut-off-streams.js';

test('a stream that was cut off is known as such until the peer has ended it', () => {
  const streams = new CutOffStreams();
  streams.add(3);
  expect([streams.has(1), streams.has(3)]).toEqual([false, true]);
  streams.delete(3);
  expect(streams.has(3)).toBe(false);
});

test('of too many the first are forgotten, and nobody is blamed for what is not known', () => {
  const streams = new CutOffStreams();
  for (let id = 1; id < 2 * 1100; id += 2) streams.add(id);
  expect([1, 7, 2 * 1100 - 1].map((id) => streams.has(id))).toEqual([true, true, true]);
  expect(streams.has(2 * 1100 + 1)).toBe(false);
});
