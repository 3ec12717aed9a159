/** Errors of single items: the header that carries them, how the proxy reads it, and how `serveBatched()` writes it. */
import { encodeStatusMessage, parseItemErrors } from '@batchwise/grpc';
import { BatchwiseError } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { batchedStatus, formatItemErrors } from '../src/serve-batched/batched-errors.js';
import { serve, until } from './support/batched-calls.js';

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

/** Replaces unpaired surrogates, which cannot be encoded. */
const whole = (text: string) => Buffer.from(text).toString();

describe('the header of item errors', () => {
  it('is read as it was written', () => {
    const property = fc.property(errors, (given) => {
      const expected = given.map((error) => ({ ...error, message: whole(error.message) }));
      expect(parsed(formatItemErrors(given) ?? '')).toEqual(expected);
    });
    fc.assert(property);
  });

  it('may come as several headers, joined or not, with unencoded commas', () => {
    const values = ['0 3 too long', '2 5 not found, sorry', '4 13'];
    const expected = [
      { index: 0, status: 3, message: 'too long' },
      { index: 2, status: 5, message: 'not found, sorry' },
      { index: 4, status: 13, message: '' },
    ];
    expect(parsed(values)).toEqual(expected);
    expect(parsed(values.join(', '))).toEqual(expected);
  });

  it('is percent-decoded like a status message', () => {
    const property = fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const message = whole(text).trimEnd();
      const value = `1 3 ${encodeStatusMessage(message).replaceAll(',', '%2C')}`;
      expect(parsed(value)).toEqual([{ index: 1, status: 3, message }]);
    });
    fc.assert(property);
  });

  it('ignores invalid entries', () => {
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

  it('ignores an entry for a missing item, without adding its text to another entry', () => {
    // Root cause: an ignored entry was parsed as part of the message before it.
    expect(parsed('0 3 bad, 99 5 far, far away, 1 0 fine, 2 5 gone')).toEqual([
      { index: 0, status: 3, message: 'bad' },
      { index: 2, status: 5, message: 'gone' },
    ]);
  });

  it('uses the first entry of an item', () => {
    expect(parsed('1 3 first, 1 5 second')).toEqual([{ index: 1, status: 3, message: 'first' }]);
  });
});

describe('item errors of serveBatched()', () => {
  test('are sent before the answers, with an empty message as placeholder', async () => {
    const { call, events } = serve(
      () => [new BatchwiseError('INVALID_ITEM', 'not, a number'), 7, undefined],
      {
        emptyAnswer: 'empty',
      },
    );
    call.send(1, 2, 3);
    await until(() => call.status !== undefined);
    expect(call.initial?.get('batchwise-item-error')).toEqual([
      expect.stringMatching(/^0 3 not%2C%20a%20number, 2 13 .*undefined.*item%202/),
    ]);
    expect(call.written).toEqual(['empty', 7, 'empty']);
    expect(events.slice(-1)).toEqual(['finish 0 3 2']);
  });

  test('need a placeholder: if zero bytes are not a valid message, the call fails and says so', async () => {
    const { call } = serve(() => [new Error('x')]);
    call.send(1);
    await until(() => call.status !== undefined);
    expect(call.status?.details).toMatch(/set emptyAnswer/);
    expect(call.initial).toBeUndefined();
  });

  test('are read by the proxy unchanged, with any content of their messages', () => {
    const troublesome = fc.constantFrom(
      ',',
      ' ',
      '%',
      '1',
      ', 2 3 ',
      'a',
      'ä',
      '漢',
      '😀',
      '\n',
      '\0',
      '"',
      '~',
    );
    const itemError = fc.record({
      status: fc.integer({ min: 1, max: 16 }),
      message: fc.string({ unit: troublesome }),
    });
    fc.assert(
      fc.property(fc.array(itemError, { minLength: 1, maxLength: 8 }), (given) => {
        const errors = given.map((error, i) => ({ ...error, index: 3 * i }));
        const header = formatItemErrors(errors) ?? '';
        expect(header).toMatch(/^[\x20-\x7e]*$/);
        const read = parseItemErrors(header, 1000);
        expect([...read].map(([index, { status, message }]) => ({ index, status, message }))).toEqual(
          errors.map(({ index, status, message }) => ({ index, status, message })),
        );
      }),
    );
  });

  test('are truncated if there are many, but keep their index and status', () => {
    const errors = Array.from({ length: 1000 }, (_, index) => ({
      index,
      status: 3,
      message: 'ä'.repeat(500),
    }));
    const header = formatItemErrors(errors) ?? '';
    expect(header.length).toBeLessThanOrEqual(12 * 1024);
    expect([...parseItemErrors(header, 1000).keys()]).toEqual(errors.map(({ index }) => index));
    const few = formatItemErrors(errors.slice(0, 2)) ?? '';
    expect(parseItemErrors(few, 1000).get(1)?.message).toMatch(/^ä{500}$/);
    expect(
      formatItemErrors(Array.from({ length: 5000 }, (_, index) => ({ index, status: 3, message: '' }))),
    ).toBeUndefined();
  });
});

test('an error keeps its own status; any other error is INTERNAL', () => {
  expect(batchedStatus(new BatchwiseError('OVERLOADED', 'busy'))).toEqual({ code: 8, details: 'busy' });
  expect(batchedStatus({ code: 5, details: 'no such thing' })).toEqual({ code: 5, details: 'no such thing' });
  expect(batchedStatus(Object.assign(new Error('m'), { status: 7 }))).toEqual({ code: 7, details: 'm' });
  expect(batchedStatus(Object.assign(new Error('m'), { code: 'ENOENT' }))).toEqual({
    code: 13,
    details: 'm',
  });
  expect(batchedStatus(Object.assign(new Error('m'), { status: 404 }))).toEqual({ code: 13, details: 'm' });
  expect(batchedStatus(Object.assign(new Error('m'), { metadata: { a: 1 } }))).toEqual({
    code: 13,
    details: 'm',
  });
  expect(batchedStatus(null)).toEqual({
    code: 13,
    details: 'Expected an Error, got null.',
  });
});
