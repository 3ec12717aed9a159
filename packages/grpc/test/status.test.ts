import { expect, test } from 'vitest';
import { STATUS, statusName, statusOfHttp, statusOfReset } from '../src/index.js';

test.each([
  [400, 'INTERNAL'],
  [401, 'UNAUTHENTICATED'],
  [403, 'PERMISSION_DENIED'],
  [404, 'UNIMPLEMENTED'],
  [429, 'UNAVAILABLE'],
  [502, 'UNAVAILABLE'],
  [503, 'UNAVAILABLE'],
  [504, 'UNAVAILABLE'],
  [200, 'UNKNOWN'],
  [418, 'UNKNOWN'],
  [500, 'UNKNOWN'],
] as const)('HTTP status %d is %s', (http, name) => {
  expect(statusOfHttp(http)).toBe(STATUS[name]);
});

test.each([
  [0x0, 'INTERNAL'],
  [0x1, 'INTERNAL'],
  [0x2, 'INTERNAL'],
  [0x3, 'INTERNAL'],
  [0x4, 'INTERNAL'],
  [0x5, 'UNKNOWN'],
  [0x6, 'INTERNAL'],
  [0x7, 'UNAVAILABLE'],
  [0x8, 'CANCELLED'],
  [0x9, 'INTERNAL'],
  [0xa, 'INTERNAL'],
  [0xb, 'RESOURCE_EXHAUSTED'],
  [0xc, 'PERMISSION_DENIED'],
  [0xd, 'UNKNOWN'],
] as const)('a reset with code %d is %s', (code, name) => {
  expect(statusOfReset(code, false)).toBe(STATUS[name]);
});

test('a server that cancels a call when its time is up says that it is late', () => {
  expect(statusOfReset(0x8, true)).toBe(STATUS.DEADLINE_EXCEEDED);
  expect(statusOfReset(0x2, true)).toBe(STATUS.INTERNAL);
});

test('a status has a name, an unknown one its number', () => {
  expect(statusName(14)).toBe('UNAVAILABLE');
  expect(statusName(99)).toBe('99');
});
