import { readFile } from 'node:fs/promises';
import { BatchwiseError, ERRORS, type ErrorCode } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { problemOf } from '../../src/http/problem.js';
import { REQUEST_ERRORS, RequestError, type RequestErrorCode } from '../../src/request-error.js';

test('the page of errors has every code with its statuses', async () => {
  const page = await readFile(new URL('../../../../docs/reference/http-errors.md', import.meta.url), 'utf8');
  const documented = [...page.matchAll(/^\| `([A-Z_]+)` \| (\d+) \| `([A-Z_]+)` \|/gm)].map(
    ([, code, http, grpc]) => [code, Number(http), grpc],
  );
  const known = Object.entries({ ...ERRORS, ...REQUEST_ERRORS }).map(([code, { httpStatus, grpcStatus }]) => [
    code,
    httpStatus,
    grpcStatus,
  ]);
  expect(documented.sort()).toEqual(known.sort());
});

describe('an error as problem+json', () => {
  test('says what, where and under which id', () => {
    const error = new RequestError('BAD_REQUEST', 'expected 4 numbers, got 3.', { where: 'instances[0]' });
    const { status, headers, body } = problemOf(error, 'id-1');
    expect(status).toBe(400);
    expect(headers).toEqual({ 'content-type': 'application/problem+json' });
    expect(JSON.parse(body)).toEqual({
      type: 'urn:batchwise:error:BAD_REQUEST',
      title: 'Invalid request',
      status: 400,
      detail: 'instances[0]: expected 4 numbers, got 3.',
      error: 'instances[0]: expected 4 numbers, got 3.',
      code: 'BAD_REQUEST',
      request_id: 'id-1',
      where: 'instances[0]',
    });
  });

  test.each(Object.keys(ERRORS) as ErrorCode[])('%s of the batcher has the status of its table', (code) => {
    const { status, body } = problemOf(new BatchwiseError(code, 'so'), 'id');
    expect(status).toBe(ERRORS[code].httpStatus);
    expect(JSON.parse(body)).toMatchObject({ code, status, title: expect.stringMatching(/./) });
  });

  test.each(Object.keys(REQUEST_ERRORS) as RequestErrorCode[])('%s has the status of its table', (code) => {
    const { status, body } = problemOf(new RequestError(code, 'so'), 'id');
    expect(status).toBe(REQUEST_ERRORS[code].httpStatus);
    expect(JSON.parse(body)).toMatchObject({ code, status, title: expect.stringMatching(/./) });
  });

  test.each([
    [0, '1', '0'],
    [1, '1', '1'],
    [999.2, '1', '1000'],
    [1001, '2', '1001'],
    [-5, '1', '0'],
  ])('a retry after %d ms is whole seconds in one header, exact in the other', (ms, seconds, exact) => {
    const { headers, body } = problemOf(new BatchwiseError('OVERLOADED', 'so', { retryAfterMs: ms }), 'id');
    expect(headers).toMatchObject({ 'retry-after': seconds, 'retry-after-ms': exact });
    expect(JSON.parse(body).retry_after_ms).toBe(Number(exact));
  });

  test('a retry time that is no number is not passed on', () => {
    for (const retryAfterMs of [Number.NaN, Number.POSITIVE_INFINITY]) {
      const { headers, body } = problemOf(new BatchwiseError('QUEUE_FULL', 'so', { retryAfterMs }), 'id');
      expect(headers).not.toHaveProperty('retry-after');
      expect(body).not.toContain('retry_after_ms');
    }
  });

  test('503 always says when to try again; the error itself may say otherwise', () => {
    expect(problemOf(new BatchwiseError('CLOSED', 'so'), 'id').headers).toMatchObject({ 'retry-after': '1' });
    const own = new RequestError('DRAINING', 'so', { headers: { 'retry-after': '7' } });
    expect(problemOf(own, 'id').headers).toMatchObject({ 'retry-after': '7' });
  });

  test('what user code threw is a 500 that does not repeat it', () => {
    const thrown = [
      new Error('password=hunter2'),
      new BatchwiseError('HANDLER_FAILED', 'the handler threw: password=hunter2'),
      'password=hunter2',
      undefined,
      null,
      Object.create(null),
    ];
    for (const error of thrown) {
      const { status, body, isFault } = problemOf(error, 'id');
      expect({ status, isFault }).toEqual({ status: 500, isFault: true });
      expect(body).not.toContain('hunter2');
      expect(body).toContain('id');
    }
  });

  const codeUnits = fc.array(fc.nat(0xffff)).map((codes) => String.fromCharCode(...codes));

  test('whatever the message, the body is JSON that repeats it', () => {
    fc.assert(
      fc.property(codeUnits, (message) => {
        const { body } = problemOf(new RequestError('NOT_FOUND', message), 'id');
        expect(JSON.parse(body).detail).toBe(message);
      }),
    );
  });
});
