import { expect, test } from 'vitest';
import { Backoff } from '../src/backoff.js';

test('pauses grow up to the longest, and begin anew after a success', () => {
  const backoff = new Backoff({ initialMs: 100, maxMs: 300 }, () => 0.5);
  const pauses = Array.from({ length: 5 }, () => Math.round(backoff.next()));
  expect(pauses).toEqual([100, 160, 256, 300, 300]);
  backoff.reset();
  expect(backoff.next()).toBe(100);
});

test('a pause is a fifth longer or shorter by chance', () => {
  expect(new Backoff({ initialMs: 100 }, () => 0).next()).toBeCloseTo(80);
  expect(new Backoff({ initialMs: 100 }, () => 1).next()).toBeCloseTo(120);
});

// Ten seconds and more: a backend that was back was not used for as long.
test('without options, no pause is longer than a second, but for the jitter', () => {
  const backoff = new Backoff({}, () => 0.5);
  expect(Math.max(...Array.from({ length: 20 }, () => backoff.next()))).toBe(1000);
});
