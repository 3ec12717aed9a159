/**
 * Errors as clients of gRPC see them: the status that the tables give them, and how long to stay away.
 * What an error says is shown only where this project wrote it.
 */
import { Metadata, status } from '@grpc/grpc-js';
import { BatchwiseError } from 'batchwise';
import { REQUEST_ERRORS, RequestError } from '../request-error.js';

export interface GrpcStatus {
  readonly code: status;
  readonly details: string;
  readonly metadata: Metadata;
}

/** Some clients accept 8 KiB of trailers; a character of the details can take nine bytes there. */
const LONGEST_DETAILS = 800;
/** When to come back, as HTTP says it. */
const MEMORY_FULL_MS = 1000;
const HIDDEN = 'The log of the server has the cause.';

export function grpcStatus(error: unknown): GrpcStatus {
  if (error instanceof BatchwiseError) {
    // The message of HANDLER_FAILED repeats what user code threw.
    const details = error.code === 'HANDLER_FAILED' ? HIDDEN : sendable(error.message);
    return { code: error.grpcCode, details, metadata: pushback(error.retryAfterMs) };
  }
  if (error instanceof RequestError) {
    const { grpcStatus } = REQUEST_ERRORS[error.code];
    const retryAfterMs = error.code === 'MEMORY_FULL' ? MEMORY_FULL_MS : undefined;
    return { code: status[grpcStatus], details: sendable(error.message), metadata: pushback(retryAfterMs) };
  }
  return { code: status.INTERNAL, details: HIDDEN, metadata: new Metadata() };
}

/** Clients that retry by themselves heed `grpc-retry-pushback-ms`; the other key is for those who read it. */
function pushback(retryAfterMs: number | undefined): Metadata {
  const metadata = new Metadata();
  if (retryAfterMs === undefined || !Number.isFinite(retryAfterMs)) return metadata;
  const wholeMs = String(Math.max(0, Math.ceil(retryAfterMs)));
  metadata.set('retry-after-ms', wholeMs);
  metadata.set('grpc-retry-pushback-ms', wholeMs);
  return metadata;
}

/** Half a surrogate pair cannot be percent-encoded: grpc-js would throw. */
function sendable(text: string): string {
  const short = text.length > LONGEST_DETAILS ? `${text.slice(0, LONGEST_DETAILS - 1)}…` : text;
  return short.replace(/\p{Surrogate}/gu, '\uFFFD');
}
