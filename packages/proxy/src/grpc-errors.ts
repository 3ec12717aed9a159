/**
 * The gRPC errors of the proxy: what a caller receives for an error of the batcher, for a failed backend, and for the end
 * of a batch stream. Addresses, ports and error codes of a failure stay in the log of the proxy. A status sent by the
 * backend itself is passed on unchanged.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { type CallEnd, GrpcError, metadataOf, STATUS } from '@batchwise/grpc';
import { BatchwiseError } from 'batchwise';

/** The error of a caller for an error of the batcher. */
export function errorToGrpc(error: Error): GrpcError {
  if (error instanceof GrpcError) return error;
  if (error instanceof BatchwiseError && error.cause instanceof GrpcError) return error.cause;
  if (!(error instanceof BatchwiseError) || error.code === 'HANDLER_FAILED') {
    // An error of the proxy itself: its message may contain internals.
    return new GrpcError(STATUS.INTERNAL, 'The proxy could not handle the call.', { cause: error });
  }
  const { code, grpcCode, message, retryAfterMs } = error;
  // The reason of an outage may contain addresses.
  if (code === 'UNAVAILABLE') return backendError(grpcCode, error);
  return new GrpcError(grpcCode, message, {
    cause: error,
    ...(retryAfterMs === undefined ? {} : { trailers: pushback(retryAfterMs) }),
  });
}

/** The trailer that tells retrying clients when to retry. */
export function pushback(retryAfterMs: number): { 'grpc-retry-pushback-ms': string } {
  return { 'grpc-retry-pushback-ms': String(Math.max(0, Math.ceil(retryAfterMs))) };
}

export const UNAVAILABLE_TEXT = 'The backend is unavailable.';

const BACKEND_ERROR_TEXTS: Readonly<Record<number, string>> = {
  [STATUS.CANCELLED]: 'The backend cancelled the call.',
  [STATUS.DEADLINE_EXCEEDED]: 'The deadline of the call was exceeded.',
  [STATUS.RESOURCE_EXHAUSTED]: 'The call or its answer is larger than allowed, or the backend is overloaded.',
  [STATUS.UNIMPLEMENTED]: 'The backend does not serve this method.',
  [STATUS.UNAVAILABLE]: UNAVAILABLE_TEXT,
  [STATUS.UNAUTHENTICATED]: 'The backend did not accept the credentials of the call.',
  [STATUS.PERMISSION_DENIED]: 'The backend denied the call.',
};

/** The error for a backend that failed without sending a status. */
export function backendError(status: number, cause?: unknown): GrpcError {
  const text = BACKEND_ERROR_TEXTS[status] ?? 'The backend did not answer as expected.';
  return new GrpcError(status, text, cause === undefined ? {} : { cause });
}

/** Protocol trailers that belong to a status and are passed to callers. */
const PASSED_TRAILERS = ['grpc-status-details-bin', 'grpc-retry-pushback-ms'];

export interface StreamPaths {
  readonly path: string;
  readonly batchedPath: string;
}

/** The error of the callers that have no answer when the stream of their batch ends. */
export function streamEndError(end: CallEnd, { path, batchedPath }: StreamPaths): GrpcError {
  const { status, message, trailers, cause } = end;
  if (isCallError(end)) return new GrpcError(status, message, cause === undefined ? {} : { cause });
  if (!isSentByBackend(end)) return backendError(status, cause);
  const text =
    status === STATUS.UNIMPLEMENTED
      ? `the backend does not serve ${batchedPath}, the batched method of ${path}${message ? `: ${message}` : ''}`
      : message;
  return new GrpcError(status, text, { trailers: trailersOf(trailers) });
}

/** Whether the call could not be sent because of its own metadata or deadline. */
function isCallError({ status, isUnseen }: CallEnd): boolean {
  return isUnseen && status !== STATUS.UNAVAILABLE;
}

/** Whether the backend sent this status. Otherwise the proxy derived it, and the message contains addresses and error codes. */
export function isSentByBackend({ status, trailers }: CallEnd): boolean {
  return trailers['grpc-status'] !== undefined && Number(trailers['grpc-status']) === status;
}

export function tooFewAnswers(path: string, answers: number, items: number): GrpcError {
  const counts = `expected ${items === 1 ? 'one answer' : `${items} answers, one for each item`}, got ${answers}`;
  return new GrpcError(STATUS.INTERNAL, `the backend ended ${path} with OK too early: ${counts}`);
}

/** Statuses that do not indicate a backend failure even if the backend did not send them. */
const NOT_BACKEND_FAILURES: readonly number[] = [
  STATUS.OK,
  STATUS.CANCELLED,
  STATUS.DEADLINE_EXCEEDED,
  STATUS.RESOURCE_EXHAUSTED,
];

/** Whether the end of a stream counts as a failure of the backend: UNAVAILABLE, or no status from the backend. */
export function isBackendFailure({ status, trailers, isUnseen }: CallEnd): boolean {
  if (status === STATUS.UNAVAILABLE) return true;
  // The proxy could not send the call because of its own metadata or deadline.
  if (isUnseen) return false;
  return trailers['grpc-status'] === undefined && !NOT_BACKEND_FAILURES.includes(status);
}

function trailersOf(trailers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const passed = metadataOf(trailers);
  for (const key of PASSED_TRAILERS) if (trailers[key] !== undefined) passed[key] = trailers[key];
  return passed;
}
