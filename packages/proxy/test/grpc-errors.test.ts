/** The gRPC status of the batcher's errors. */
import { GrpcError, STATUS } from '@batchwise/grpc';
import { BatchwiseError, ERRORS, type ErrorCode } from 'batchwise';
import { expect, it } from 'vitest';
import { errorToGrpc } from '../src/grpc-errors.js';

/** Error codes whose messages may contain addresses or internals. */
const HIDDEN: Partial<Record<ErrorCode, string>> = {
  HANDLER_FAILED: 'The proxy could not handle the call.',
  UNAVAILABLE: 'The backend is unavailable.',
};

it.each(Object.keys(ERRORS) as ErrorCode[])('%s has the status of the table', (code) => {
  const error = errorToGrpc(new BatchwiseError(code, 'because'));
  expect(error.status).toBe(STATUS[ERRORS[code].grpcStatus]);
  expect(error.message).toBe(HIDDEN[code] ?? 'because');
  expect(error.trailers).toBeUndefined();
});

it('sends the retry delay in whole milliseconds', () => {
  const error = errorToGrpc(new BatchwiseError('QUEUE_FULL', 'full', { retryAfterMs: 12.3 }));
  expect(error.trailers).toEqual({ 'grpc-retry-pushback-ms': '13' });
});

it('passes a gRPC status on unchanged, thrown or given', () => {
  const own = new GrpcError(STATUS.NOT_FOUND, 'none');
  expect(errorToGrpc(own)).toBe(own);
  expect(errorToGrpc(new BatchwiseError('HANDLER_FAILED', 'threw', { cause: own }))).toBe(own);
});

it('any other error is INTERNAL, without its message', () => {
  const error = errorToGrpc(new TypeError('connect ECONNREFUSED'));
  expect(error).toMatchObject({ status: STATUS.INTERNAL, message: 'The proxy could not handle the call.' });
});
