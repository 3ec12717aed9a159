/** The properties that web frameworks read from an error that is thrown in a route. */
import { BatchwiseError, ERRORS, type ErrorCode } from 'batchwise';
import { describe, expect, test } from 'vitest';

describe.each(Object.keys(ERRORS) as ErrorCode[])('%s', (code) => {
  const error = new BatchwiseError(code, 'what happened');

  test('has its HTTP status under the names of all frameworks', () => {
    const { httpStatus } = ERRORS[code];
    expect(error).toMatchObject({ httpStatus, status: httpStatus, statusCode: httpStatus });
  });

  test('as a response has the status, the code, and the message unless the status is 500', async () => {
    const { status, statusCode } = error;
    const message = status === 500 ? 'Internal Server Error' : 'what happened';
    expect(error.expose).toBe(status !== 500);
    const response = error.getResponse();
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ statusCode, code, message });
  });
});

test.each([
  [undefined, undefined],
  [0, '1'],
  [250, '1'],
  [1000, '1'],
  [1000.5, '2'],
  [61_000, '61'],
])('retryAfterMs %s becomes the header retry-after %s, in whole seconds', (retryAfterMs, seconds) => {
  const options = retryAfterMs === undefined ? {} : { retryAfterMs };
  const error = new BatchwiseError('OVERLOADED', 'too much', options);
  expect(error.headers['retry-after']).toBe(seconds);
  expect(error.getResponse().headers.get('retry-after')).toBe(seconds ?? null);
});

test('the HTTP properties are not part of logs and copies of an error', () => {
  const error = new BatchwiseError('QUEUE_FULL', 'full', { retryAfterMs: 5 });
  expect(Object.keys(error)).toEqual(['code', 'retryAfterMs']);
  expect(JSON.parse(JSON.stringify(error))).toEqual({
    name: 'BatchwiseError',
    code: 'QUEUE_FULL',
    message: 'full',
    retryAfterMs: 5,
  });
});
