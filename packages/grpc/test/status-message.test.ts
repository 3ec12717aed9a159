import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeStatusMessage, encodeStatusMessage } from '../src/index.js';

test('any text survives the header', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const coded = encodeStatusMessage(text);
      expect(coded).toMatch(/^[\x20-\x7e]*$/);
      expect(decodeStatusMessage(coded)).toBe(text);
    }),
  );
});

test.each([
  ['plain', 'plain'],
  ['50%', '50%25'],
  ['tab\tand\nline', 'tab%09and%0Aline'],
  ['größe', 'gr%C3%B6%C3%9Fe'],
])('%j is written as %s', (text, coded) => {
  expect(encodeStatusMessage(text)).toBe(coded);
});

test.each([
  ['100%', '100%'],
  ['%', '%'],
  ['%2', '%2'],
  ['%zz', '%zz'],
  ['%c3%B6', 'ö'],
  ['%FF', '\ufffd'],
  ['a%C3b', 'a\ufffdb'],
  ['ö%C3%B6', 'öö'],
  ['😀%20', '😀 '],
])('%j is read as %j', (coded, text) => {
  expect(decodeStatusMessage(coded)).toBe(text);
});

test('no text makes the decoder throw', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('%', 'a', 'F', '0', 'ö', '\ud800') }), (text) => {
      expect(typeof decodeStatusMessage(text)).toBe('string');
    }),
  );
});
