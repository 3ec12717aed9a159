import { type CallEnd, STATUS } from '@batchwise/grpc';
import { describe, expect, test } from 'vitest';
import { grpcFailure } from '../../src/upstream/grpc-failure.js';
import { httpFailure } from '../../src/upstream/http-failure.js';

const sent = (status: keyof typeof STATUS, trailers = {}): CallEnd => ({
  status: STATUS[status],
  message: 'why',
  trailers: { 'grpc-status': String(STATUS[status]), ...trailers },
  isUnseen: false,
});
const reset = (status: keyof typeof STATUS, isUnseen = false): CallEnd => ({
  status: STATUS[status],
  message: 'reset',
  trailers: {},
  isUnseen,
});

describe('a gRPC status', () => {
  test.each([
    ['INVALID_ARGUMENT', 'INVALID_ITEM', false],
    ['OUT_OF_RANGE', 'INVALID_ITEM', false],
    ['UNAVAILABLE', 'UNAVAILABLE', true],
    ['RESOURCE_EXHAUSTED', 'OVERLOADED', false],
    ['DEADLINE_EXCEEDED', 'DEADLINE_EXCEEDED', false],
    ['NOT_FOUND', 'HANDLER_FAILED', false],
    ['UNAUTHENTICATED', 'HANDLER_FAILED', false],
    // May be caused by one request: it has no code, so that the batch is bisected.
    ['UNKNOWN', undefined, false],
    ['INTERNAL', undefined, false],
  ] as const)('%s that the upstream sent maps to %s', (status, code, isOutage) => {
    const failure = grpcFailure(sent(status));
    expect(failure).toMatchObject({ isOutage, isUnseen: false });
    expect((failure.error as { code?: string }).code).toBe(code);
    expect(failure.error.message).toBe(`${status}: why`);
  });

  test.each(['INTERNAL', 'UNKNOWN', 'CANCELLED', 'UNAVAILABLE'] as const)(
    '%s that the upstream did not send is a lost connection and fails the whole batch',
    (status) => {
      expect(grpcFailure(reset(status))).toMatchObject({
        isOutage: true,
        error: { code: 'UNAVAILABLE' },
      });
    },
  );

  test.each([
    [reset('UNKNOWN'), 'UNKNOWN: the call was reset'],
    [reset('UNAVAILABLE', true), 'UNAVAILABLE: the call was not accepted'],
    [reset('DEADLINE_EXCEEDED'), 'DEADLINE_EXCEEDED: no response in time'],
    [
      { ...reset('UNAVAILABLE'), cause: Object.assign(new Error('10.0.0.7:8001'), { code: 'ECONNRESET' }) },
      'UNAVAILABLE: the connection failed (ECONNRESET)',
    ],
  ])('that the upstream did not send does not reveal the address: %#', (end, text) => {
    // Root cause: callers got the connection error, which contains the address.
    const { error } = grpcFailure({ ...end, message: 'lost 10.0.0.7:8001' });
    expect(error.message).toBe(text);
    expect((error.cause as Error).message).toMatch(/10\.0\.0\.7/);
  });

  test('for a message that is too large lets the batch be bisected', () => {
    const end = { ...sent('RESOURCE_EXHAUSTED'), message: 'Received message larger than max (5 vs. 4)' };
    expect(grpcFailure(end).error).toMatchObject({ code: 'INVALID_ITEM' });
  });

  test('keeps isUnseen and the retry time', () => {
    expect(grpcFailure(reset('UNAVAILABLE', true)).isUnseen).toBe(true);
    const failure = grpcFailure(sent('RESOURCE_EXHAUSTED', { 'grpc-retry-pushback-ms': '250' }));
    expect(failure.error).toMatchObject({ retryAfterMs: 250 });
  });
});

describe('an HTTP status', () => {
  const reply = (status: number, headers = {}, body = '') => ({ status, headers, body: Buffer.from(body) });

  test.each([
    [400, 'INVALID_ITEM', false],
    [413, 'INVALID_ITEM', false],
    [404, 'HANDLER_FAILED', false],
    [301, 'HANDLER_FAILED', false],
    [429, 'OVERLOADED', false],
    [500, undefined, false],
    [502, 'UNAVAILABLE', true],
    [503, 'UNAVAILABLE', true],
    [504, 'DEADLINE_EXCEEDED', true],
  ] as const)('%i maps to %s', (status, code, isOutage) => {
    const failure = httpFailure(reply(status));
    expect(failure).toMatchObject({ isOutage, isUnseen: false });
    expect((failure.error as { code?: string }).code).toBe(code);
  });

  test('includes the error text of the upstream and the retry time', () => {
    const json = { 'content-type': 'application/json', 'retry-after': '2' };
    const { error } = httpFailure(reply(503, json, '{"error":"model is loading"}'));
    expect(error).toMatchObject({ message: 'HTTP 503: model is loading', retryAfterMs: 2000 });
    const plain = httpFailure(reply(400, { 'content-type': 'text/plain' }, `no\n${'x'.repeat(1000)}`));
    expect(plain.error.message.length).toBeLessThan(400);
    expect(httpFailure(reply(500, { 'content-type': 'text/html' }, '<h1>')).error.message).toBe('HTTP 500');
  });
});
