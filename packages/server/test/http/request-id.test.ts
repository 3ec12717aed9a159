import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextRequestId, requestId } from '../../src/http/request-id.js';

test("a client's id of visible ASCII characters is kept", () => {
  for (const id of ['a', 'trace/1;2', '~', 'x'.repeat(128)]) expect(requestId(id)).toBe(id);
});

test.each([
  [''],
  [' '],
  ['a b'],
  ['x'.repeat(129)],
  ['a\r\nset-cookie: b'],
  ['ä'],
  ['a\n'],
  ['\x7f'],
  [undefined],
  [['a', 'b']],
])('for %j there is one of our own', (given) => {
  expect(requestId(given)).toMatch(/^[\w-]+$/);
  expect(requestId(given)).not.toBe(given);
});

test('ours are unique, and could be repeated by a client', () => {
  const ids = Array.from({ length: 1000 }, nextRequestId);
  expect(new Set(ids).size).toBe(1000);
  for (const id of ids) expect(requestId(id)).toBe(id);
});

const codeUnits = fc.array(fc.nat(0x1ff), { maxLength: 200 }).map((codes) => String.fromCharCode(...codes));

test('whatever comes, what is repeated is fit for a header', () => {
  fc.assert(
    fc.property(codeUnits, (given) => {
      expect(requestId(given)).toMatch(/^[\x21-\x7e]{1,128}$/);
    }),
  );
});
