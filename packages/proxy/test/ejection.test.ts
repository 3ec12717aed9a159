/** When a backend is left out for its failures, and for how long. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Ejection } from '../src/backends/ejection.js';

const SETTINGS = { failures: 3, durationMs: 100 };

function failTimes(ejection: Ejection, times: number, now: number): boolean {
  let isEjected = false;
  for (let i = 0; i < times; i++) isEjected = ejection.failed(now);
  return isEjected;
}

describe('ejection', () => {
  it('takes so many failures in a row', () => {
    const ejection = new Ejection(SETTINGS);
    expect(failTimes(ejection, 2, 0)).toBe(false);
    ejection.succeeded();
    expect(failTimes(ejection, 2, 0)).toBe(false);
    expect(ejection.isEjected(0)).toBe(false);
    expect(ejection.failed(0)).toBe(true);
    expect(ejection.isEjected(99)).toBe(true);
    expect(ejection.isEjected(100)).toBe(false);
  });

  it('lasts twice as long each time it happens again soon', () => {
    const ejection = new Ejection(SETTINGS);
    const durations: number[] = [];
    let now = 0;
    for (let i = 0; i < 8; i++) {
      failTimes(ejection, 3, now);
      durations.push(ejection.until - now);
      now = ejection.until;
    }
    expect(durations).toEqual([100, 200, 400, 800, 1600, 3200, 3200, 3200]);
  });

  it('is not made longer by what fails meanwhile', () => {
    const ejection = new Ejection(SETTINGS);
    failTimes(ejection, 3, 0);
    expect(failTimes(ejection, 10, 50)).toBe(false);
    expect(ejection.until).toBe(100);
  });

  it('is forgiven after a long time without', () => {
    const ejection = new Ejection(SETTINGS);
    failTimes(ejection, 3, 0);
    failTimes(ejection, 3, 100);
    const now = ejection.until + 1001;
    failTimes(ejection, 3, now);
    expect(ejection.until - now).toBe(100);
  });

  it('ends before its time when the backend is found well', () => {
    const ejection = new Ejection(SETTINGS);
    failTimes(ejection, 3, 0);
    ejection.putBack(50);
    expect(ejection.isEjected(50)).toBe(false);
    expect(failTimes(ejection, 2, 50)).toBe(false);
  });

  it('never happens without settings', () => {
    const ejection = new Ejection(undefined);
    expect(failTimes(ejection, 100, 0)).toBe(false);
    expect(ejection.isEjected(0)).toBe(false);
  });

  it('never lasts longer than 32 times its duration, whatever happens', () => {
    const step = fc.tuple(fc.constantFrom('failed', 'succeeded', 'putBack'), fc.nat(500));
    const property = fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const ejection = new Ejection(SETTINGS);
      let now = 0;
      for (const [what, laterMs] of steps) {
        now += laterMs;
        if (what === 'failed') ejection.failed(now);
        else if (what === 'succeeded') ejection.succeeded();
        else ejection.putBack(now);
        expect(ejection.until - now).toBeLessThanOrEqual(32 * SETTINGS.durationMs);
        expect(ejection.isEjected(ejection.until)).toBe(false);
      }
    });
    fc.assert(property);
  });
});
