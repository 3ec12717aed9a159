import { GrpcError } from './grpc-error.js';
import { STATUS } from './status.js';

/** For a call that could not be sent because of what it carries; nobody else's fault. */
export function unsendable(cause: unknown): GrpcError {
  if (cause instanceof GrpcError) return cause;
  const text = cause instanceof Error ? cause.message : String(cause);
  return new GrpcError(STATUS.INTERNAL, `the call cannot be sent: ${text}`, { cause });
}
