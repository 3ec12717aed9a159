/** What a caller hears of an error of the batcher. */
import { GrpcError, STATUS } from '@batchwise/grpc';
import { BatchwiseError } from 'batchwise';

export function errorToGrpc(error: Error): GrpcError {
  if (error instanceof GrpcError) return error;
  const isThrown = error instanceof BatchwiseError && error.code === 'HANDLER_FAILED';
  // What the handler threw says more than that it threw.
  if (isThrown && error.cause instanceof GrpcError) return error.cause;
  // A fault of the proxy itself: its message may have anything in it that is none of the caller's business.
  if (isThrown || !(error instanceof BatchwiseError)) {
    return new GrpcError(STATUS.INTERNAL, 'The proxy could not handle the call.', { cause: error });
  }
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
