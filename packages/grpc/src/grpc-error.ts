import type { OutgoingHttpHeaders } from 'node:http2';
import type { StatusCode } from './status.js';

export interface GrpcErrorOptions {
  /** Custom trailing metadata, `grpc-status-details-bin` and `grpc-retry-pushback-ms` among them. */
  readonly trailers?: OutgoingHttpHeaders | undefined;
  readonly cause?: unknown;
}

/** A status other than OK, as one side tells the other. */
export class GrpcError extends Error {
  override readonly name = 'GrpcError';
  readonly status: StatusCode;
  readonly trailers: OutgoingHttpHeaders | undefined;

  constructor(status: StatusCode, message: string, options: GrpcErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = status;
    this.trailers = options.trailers;
  }
}
