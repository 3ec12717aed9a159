import fc from 'fast-check';
import { expect, test } from 'vitest';
import { quoteLongIntegers } from '../../src/open-inference/quote-long-integers.js';

test('integers of 16 digits and more get quotes, nothing else does', () => {
  expect(
    quoteLongIntegers('{"a":[9007199254740993,-9223372036854775808,123,-1],"b":1234567890123456.5}'),
  ).toBe('{"a":["9007199254740993","-9223372036854775808",123,-1],"b":1234567890123456.5}');
  expect(quoteLongIntegers('1234567890123456789e2')).toBe('1234567890123456789e2');
  expect(quoteLongIntegers('0.1234567890123456789')).toBe('0.1234567890123456789');
  expect(quoteLongIntegers('9007199254740993')).toBe('"9007199254740993"');
});

test('digits in strings with any escapes are not changed', () => {
  for (const text of [
    '"1234567890123456789"',
    '{"1234567890123456789":"\\"1234567890123456789\\\\"}',
    '["\\\\",1,"\\u0031234567890123456789"]',
  ]) {
    expect(quoteLongIntegers(text)).toBe(text);
  }
});

test('integers keep all their digits', () => {
  const part = fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n }), fc.string(), fc.boolean());
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const json = `[${parts.map((part) => (typeof part === 'bigint' ? part : JSON.stringify(part))).join(', ')}]`;
      const read: unknown[] = JSON.parse(quoteLongIntegers(json));
      expect(read.map(String)).toEqual(parts.map(String));
    }),
  );
});
