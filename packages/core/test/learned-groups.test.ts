import { describe, expect, test } from 'vitest';
import { LearnedGroups } from '../src/learning/learned-groups.js';
import { ServiceCurve } from '../src/learning/service-curve.js';

const REMEMBERED = 256;
const ended = (durationMs: number) => ({ size: 1, cost: 1, durationMs, callers: 1 });

describe('the estimates of a group', () => {
  test('include its own rate of arrivals', () => {
    const groups = new LearnedGroups(new ServiceCurve());
    for (let i = 0; i <= 300; i++) {
      groups.arrived('slow', 1, 10 * i);
      groups.arrived('quick', 2, 10 * i);
    }
    expect(groups.of('slow').traffic.ratePerMs(3000)).toBeCloseTo(0.1, 9);
    expect(groups.of('quick').traffic.ratePerMs(3000)).toBeCloseTo(0.2, 2);
    expect(groups.of('unknown').traffic.ratePerMs(3000)).toBe(0);
  });

  test('use the shared curve until its durations differ', () => {
    const curve = new ServiceCurve();
    const groups = new LearnedGroups(curve);
    for (let i = 0; i < 20; i++) {
      for (let group = 0; group < 10; group++) {
        const durationMs = group === 9 ? 40 : 10;
        groups.batchEnded(group, ended(durationMs), i);
        curve.record(1, durationMs, i);
      }
    }
    expect(groups.of(0).curve).toBe(curve);
    expect(groups.of(9).curve.mean(1)).toBeCloseTo(40, 0);
    expect(groups.of('unknown').curve).toBe(curve);
    // Root cause: batches that exceed handlerTimeoutMs were learned by the shared curve only.
    const { curve: own } = groups.of(9);
    const { samples } = own;
    groups.learnAtLeast(9, 1, 500, 20);
    expect(own.samples).toBe(samples + 1);
  });

  test('are bounded in number: the least recently used group is forgotten', () => {
    const groups = new LearnedGroups(new ServiceCurve());
    const lastAtOf = (group: number) => groups.of(group).traffic.lastAt;
    for (let group = 0; group < REMEMBERED; group++) {
      groups.arrived(group, 1, group);
      groups.arrived(group, 1, group + 1);
    }
    groups.arrived(0, 1, 1000); // an arrival counts as a use, and so does a batch
    groups.batchEnded(1, ended(5), 1000);
    groups.arrived('new', 1, 1000);
    groups.arrived('newer', 1, 1000);
    expect([0, 1, 2, 3, 4].map(lastAtOf)).toEqual([1000, 2, -Infinity, -Infinity, 5]);
    for (let i = 0; i < 10 * REMEMBERED; i++) groups.arrived({}, 1, 2000);
    expect([0, 1, 4].map(lastAtOf)).toEqual([-Infinity, -Infinity, -Infinity]);
  });
});
