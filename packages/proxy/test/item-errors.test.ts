/** The header by which a backend fails single items. */
import { encodeStatusMessage, parseItemErrors } from '@batchwise/grpc';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatItemErrors } from '../src/batched-item-errors.js';

const parsed = (value: string | string[], size = 10) =>
  [...parseItemErrors(value, size)].map(([index, { status, message }]) => ({ index, status, message }));

const errors = fc.uniqueArray(
  fc.record({
    index: fc.nat(9),
    status: fc.integer({ min: 1, max: 16 }),
    message: fc.string({ unit: 'grapheme', maxLength: 20 }),
  }),
  { selector: ({ index }) => index, maxLength: 10 },
);

/** A text may hold halves of characters, which no encoding has. */
const whole = (text: string) => Buffer.from(text).toString();

describe('item errors', () => {
  it('are read as they were written', () => {
    const property = fc.property(errors, (given) => {
      const expected = given.map((error) => ({ ...error, message: whole(error.message) }));
      expect(parsed(formatItemErrors(given) ?? '')).toEqual(expected);
    });
    fc.assert(property);
  });

  it('may come as several headers, joined or not, with commas that were not encoded', () => {
    const values = ['0 3 too long', '2 5 not found, sorry', '4 13'];
    const expected = [
      { index: 0, status: 3, message: 'too long' },
      { index: 2, status: 5, message: 'not found, sorry' },
      { index: 4, status: 13, message: '' },
    ];
    expect(parsed(values)).toEqual(expected);
    expect(parsed(values.join(', '))).toEqual(expected);
  });

  it('are percent-decoded as statuses are', () => {
    const property = fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const message = whole(text).trimEnd();
      const value = `1 3 ${encodeStatusMessage(message).replaceAll(',', '%2C')}`;
      expect(parsed(value)).toEqual([{ index: 1, status: 3, message }]);
    });
    fc.assert(property);
  });

  it('that make no sense are none, whatever they are', () => {
    for (const value of [
      '',
      ' ',
      'x',
      '1',
      '-1 3 a',
      '99 3 a',
      '0 0 fine',
      '0 17 a',
      '1e1 3',
      'NaN NaN',
      ',,,',
    ]) {
      expect(parsed(value)).toEqual([]);
    }
    const property = fc.property(fc.string(), fc.nat(5), (value, size) => {
      for (const { index, status } of parsed(value, size)) {
        expect(index).toBeLessThan(size);
        expect(status).toBeGreaterThan(0);
        expect(status).toBeLessThan(17);
      }
    });
    fc.assert(property);
  });

  it('of an item that is not there are passed over, and their words are nobody else’s', () => {
    // An entry that did not count was taken for a part of the message before it.
    expect(parsed('0 3 bad, 99 5 far, far away, 1 0 fine, 2 5 gone')).toEqual([
      { index: 0, status: 3, message: 'bad' },
      { index: 2, status: 5, message: 'gone' },
    ]);
  });

  it('the first of an item counts', () => {
    expect(parsed('1 3 first, 1 5 second')).toEqual([{ index: 1, status: 3, message: 'first' }]);
  });
});
