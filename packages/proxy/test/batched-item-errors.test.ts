/** What becomes of errors in `serveBatched()`: those of single items, and the status of any. */

import { parseItemErrors } from '@batchwise/grpc';
import { BatchwiseError } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatItemErrors } from '../src/batched-item-errors.js';
import { batchedStatus } from '../src/batched-status.js';
import { serve, until } from './support/batched-calls.js';

describe('errors of single items', () => {
  test('go ahead of the answers, with an empty message in their place', async () => {
    const { call, heard } = serve(() => [new BatchwiseError('INVALID_ITEM', 'not, a number'), 7, undefined], {
      emptyAnswer: 'empty',
    });
    call.send(1, 2, 3);
    await until(() => call.status !== undefined);
    expect(call.initial?.get('batchwise-item-error')).toEqual([
      expect.stringMatching(/^0 3 not%2C%20a%20number, 2 13 .*undefined.*item%202/),
    ]);
    expect(call.written).toEqual(['empty', 7, 'empty']);
    expect(heard.slice(-1)).toEqual(['finish 0 3 2']);
  });

  test('need a message that stands for them: if no bytes at all are none, the call says so', async () => {
    const { call } = serve(() => [new Error('x')]);
    call.send(1);
    await until(() => call.status !== undefined);
    expect(call.status?.details).toMatch(/set emptyAnswer/);
    expect(call.initial).toBeUndefined();
  });

  test('are read by the proxy as they were meant, whatever their messages hold', () => {
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

  test('are cut when they are many, and keep their number and status', () => {
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

test('an error keeps the status it carries; any other is INTERNAL', () => {
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
    details: 'Expected an Error that says what went wrong, got null.',
  });
});
