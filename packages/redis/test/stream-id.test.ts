import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareIds, idAfter, timeOf } from '../src/stream-id.js';

const id = fc.tuple(fc.nat(), fc.nat()).map(([ms, number]) => `${ms}-${number}`);

test('ids follow each other within their millisecond', () => {
  expect(idAfter('1700000000000-7', 0)).toBe('1700000000000-7');
  expect(idAfter('1700000000000-7', 5)).toBe('1700000000000-12');
  expect(timeOf('1700000000000-7')).toBe(1_700_000_000_000);
});

test('ids are ordered by time, then by number, not as text', () => {
  expect(['9-0', '10-0', '9-10', '9-9'].sort(compareIds)).toEqual(['9-0', '9-9', '9-10', '10-0']);
  fc.assert(fc.property(id, id, (a, b) => Math.sign(compareIds(a, b)) === -Math.sign(compareIds(b, a))));
  fc.assert(fc.property(id, fc.nat({ max: 1000 }), (a, n) => compareIds(a, idAfter(a, n)) <= 0));
});
