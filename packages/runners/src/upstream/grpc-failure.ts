/** What a status of gRPC means for those whose batch it ended. */
import { type CallEnd, STATUS, statusName } from '@batchwise/grpc';
import { BatchwiseError } from 'batchwise';
import { quoted } from '../open-inference/shown-value.js';
import { connectionLoss } from './connection-loss.js';
import { type Failure, failed, outage, unreadable } from './outcome.js';

const STATUSES: ReadonlySet<number> = new Set(Object.values(STATUS));

export function grpcFailure(end: CallEnd): Failure {
  const { status, isUnseen } = end;
  // A reset or a lost connection comes as a status too, but nobody has sent it.
  const isSaid = Object.keys(end.trailers).length > 0;
  if (isSaid && !isStatus(end)) return unreadable(notAnEnd(end));
  const text = textOf(end, isSaid);
  const options = isSaid ? {} : { cause: end.cause ?? new Error(end.message) };
  switch (status) {
    case STATUS.UNAVAILABLE:
      return outage(new BatchwiseError('UNAVAILABLE', text, { ...options, ...pushbackOf(end) }), isUnseen);
    case STATUS.DEADLINE_EXCEEDED:
      return { ...failed(new BatchwiseError('DEADLINE_EXCEEDED', text, options)), isOutage: !isSaid };
    case STATUS.RESOURCE_EXHAUSTED:
      // Every gRPC library says it like this. Half of the batch may fit.
      if (/message larger than max/i.test(end.message))
        return failed(new BatchwiseError('INVALID_ITEM', text, options));
      return failed(new BatchwiseError('OVERLOADED', text, { ...options, ...pushbackOf(end) }));
    case STATUS.INVALID_ARGUMENT:
    case STATUS.OUT_OF_RANGE:
    case STATUS.FAILED_PRECONDITION:
      return failed(new BatchwiseError('INVALID_ITEM', text, options));
    case STATUS.NOT_FOUND:
    case STATUS.UNIMPLEMENTED:
    case STATUS.UNAUTHENTICATED:
    case STATUS.PERMISSION_DENIED:
      // Of how it was set up, and of no request.
      return failed(new BatchwiseError('HANDLER_FAILED', text, options));
    default:
      if (!isSaid) return outage(new BatchwiseError('UNAVAILABLE', text, options), isUnseen);
      if (status === STATUS.CANCELLED) return failed(new BatchwiseError('UNAVAILABLE', text, options));
      return failed(new Error(text, options));
  }
}

/** That the status of the call is the one the upstream sent, and is one of gRPC's. */
function isStatus({ status, trailers }: CallEnd): boolean {
  return Number(trailers['grpc-status']) === status && STATUSES.has(status);
}

function notAnEnd({ trailers }: CallEnd): Error {
  const status = String(trailers['grpc-status'] ?? '');
  return new Error(
    status === '0' ? 'it ended within a message.' : `it ended with grpc-status ${quoted(status)}.`,
  );
}

/** What the upstream said is for its callers; what is said of the connection names addresses. */
function textOf({ status, message, isUnseen, cause }: CallEnd, isSaid: boolean): string {
  let said = message;
  if (!isSaid) {
    if (status === STATUS.DEADLINE_EXCEEDED) said = 'no answer came in time';
    else if (cause !== undefined) said = connectionLoss(cause);
    else said = isUnseen ? 'it did not take the call' : 'it broke the call off';
  }
  return said === '' ? statusName(status) : `${statusName(status)}: ${said}`;
}

function pushbackOf({ trailers }: CallEnd): { retryAfterMs?: number } {
  const text = String(trailers['grpc-retry-pushback-ms'] ?? '');
  return /^\d{1,9}$/.test(text) ? { retryAfterMs: Number(text) } : {};
}
