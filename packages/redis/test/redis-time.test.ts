import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RedisTime } from '../src/redis-time.js';

test('nothing is known at first: nothing has waited', () => {
  expect(new RedisTime().sinceMs(1_700_000_000_000, 5)).toBe(0);
});

test('whatever the clocks say, the age of an item is known within half of the quickest reply and a millisecond', () => {
  fc.assert(
    fc.property(
      fc.double({ min: -1e12, max: 1e12, noNaN: true }),
      fc.array(
        fc.record({
          there: fc.double({ min: 0.1, max: 50, noNaN: true }),
          back: fc.double({ min: 0.1, max: 50, noNaN: true }),
        }),
        { minLength: 1, maxLength: 20 },
      ),
      (offset, replies) => {
        const time = new RedisTime();
        let now = 1000;
        for (const { there, back } of replies) {
          time.record(Math.floor(now + there + offset), now, now + there + back);
          now += there + back;
        }
        const quickest = Math.min(...replies.map(({ there, back }) => there + back));
        const off = Math.abs(time.sinceMs(now - 500 + offset, now) - 500);
        // Of replies nearly as quick as the quickest, the latest counts; and the quickest is forgotten slowly.
        expect(off).toBeLessThanOrEqual((quickest * 1.5 * 1.01 ** 20) / 2 + 1.01);
      },
    ),
  );
});

test('a slow reply does not spoil what a quick one has told', () => {
  const time = new RedisTime();
  time.record(5000, 0, 1);
  time.record(5190, 2, 302);
  expect(time.sinceMs(5000, 100)).toBeCloseTo(100, 0);
});

test('nothing has waited less than no time', () => {
  const time = new RedisTime();
  time.record(5000, 0, 1);
  expect(time.sinceMs(9000, 100)).toBe(0);
});

// A heartbeat that waited for the connection told nothing, and what was read next counted as having waited for no time.
test('a reply to what waited for the connection tells the time: it was sent after the connection was made', () => {
  const time = new RedisTime();
  time.record(5000, 0, 1);
  time.forget(60_000);
  expect(time.isKnown).toBe(false);
  time.record(900_000, 10, 60_002);
  expect(time.sinceMs(900_000 - 500, 60_002)).toBeCloseTo(501, -1);
  // What is known by then is better than a second one of the kind.
  time.record(700_000, 10, 60_003);
  expect(time.sinceMs(900_000 - 500, 60_002)).toBeCloseTo(501, -1);
});
