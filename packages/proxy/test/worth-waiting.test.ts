import { BackendLoad } from 'batchwise';
import { describe, expect, it } from 'vitest';
import { worthWaitingMs } from '../src/backends/worth-waiting.js';

const NOW = 1000;

/** One that takes so long for a batch of 8, and has worked on one for so long. */
function backend(takesMs: number | undefined, busyForMs?: number): BackendLoad {
  const load = new BackendLoad();
  if (takesMs !== undefined) load.curve.record(8, takesMs, NOW - 100);
  if (busyForMs !== undefined) load.begin(8, NOW - busyForMs);
  return load;
}

const batch = { size: 8, ahead: 0 };

describe('a batch', () => {
  // Only those that were free were compared: with 10 and 200 ms, a caller in four waited 200.
  it('waits for a quick backend that is busy rather than leave for a slow one', () => {
    expect(worthWaitingMs([backend(200)], [backend(10, 4)], batch, NOW)).toBeCloseTo(6);
  });

  it('leaves when the slow one would be done about as soon', () => {
    expect(worthWaitingMs([backend(20)], [backend(10, 1)], batch, NOW)).toBe(0);
    expect(worthWaitingMs([backend(10)], [backend(10, 9)], batch, NOW)).toBe(0);
  });

  it('leaves when so many wait that the quick one would not be done with them sooner', () => {
    const quick = backend(10, 4);
    expect(worthWaitingMs([backend(200)], [quick], { size: 8, ahead: 5 }, NOW)).toBeGreaterThan(0);
    expect(worthWaitingMs([backend(200)], [quick], { size: 8, ahead: 20 }, NOW)).toBe(0);
  });

  it('leaves for one of which nothing is known, to find out', () => {
    expect(worthWaitingMs([backend(undefined)], [backend(10, 4)], batch, NOW)).toBe(0);
  });

  it('does not wait for one of which nothing is known, nor for one that is overdue', () => {
    expect(worthWaitingMs([backend(200)], [backend(undefined, 4)], batch, NOW)).toBe(0);
    expect(worthWaitingMs([backend(200)], [backend(10, 500)], batch, NOW)).toBe(0);
  });

  it('leaves when all are free, and when there is none', () => {
    expect(worthWaitingMs([backend(200), backend(10)], [], batch, NOW)).toBe(0);
    expect(worthWaitingMs([], [backend(10, 4)], batch, NOW)).toBe(0);
  });
});
