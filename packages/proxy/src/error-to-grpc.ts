/** What a caller hears of an error of the batcher. */
import { GrpcError, STATUS } from '@batchwise/grpc';
import { BatchwiseError } from 'batchwise';

export function errorToGrpc(error: Error): GrpcError {
  if (error instanceof GrpcError) return error;
  if (!(error instanceof BatchwiseError)) {
    return new GrpcError(STATUS.INTERNAL, error.message, { cause: error });
  }
  // What the handler threw says more than that it threw.
  if (error.code === 'HANDLER_FAILED' && error.cause instanceof GrpcError) return error.cause;
  const { grpcCode, message, retryAfterMs } = error;
  return new GrpcError(grpcCode, message, {
    cause: error,
    ...(retryAfterMs === undefined ? {} : { trailers: pushback(retryAfterMs) }),
  });
}

/** Tells clients that retry by themselves when to come back. */
export function pushback(retryAfterMs: number): { 'grpc-retry-pushback-ms': string } {
  return { 'grpc-retry-pushback-ms': String(Math.max(0, Math.ceil(retryAfterMs))) };
}
