/** Maps a gRPC status to the failure of a batch. */
import { type CallEnd, STATUS, statusName } from '@batchwise/grpc';
import { BatchwiseError } from 'batchwise';
import { quoted } from '../open-inference/shown-value.js';
import { connectionLoss, type Failure, failed, outage, unreadable } from './outcome.js';

const STATUSES: ReadonlySet<number> = new Set(Object.values(STATUS));

export function grpcFailure(end: CallEnd): Failure {
  const { status, isUnseen } = end;
  // A reset or a lost connection also has a status, but no trailers: the upstream did not send it.
  const hasTrailers = Object.keys(end.trailers).length > 0;
  if (hasTrailers && !isStatus(end)) return unreadable(invalidStatus(end));
  const text = textOf(end, hasTrailers);
  const options = hasTrailers ? {} : { cause: end.cause ?? new Error(end.message) };
  switch (status) {
    case STATUS.UNAVAILABLE:
      return outage(new BatchwiseError('UNAVAILABLE', text, { ...options, ...pushbackOf(end) }), isUnseen);
    case STATUS.DEADLINE_EXCEEDED:
      return { ...failed(new BatchwiseError('DEADLINE_EXCEEDED', text, options)), isOutage: !hasTrailers };
    case STATUS.RESOURCE_EXHAUSTED:
      // All gRPC libraries use this wording. Half of the batch may fit.
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
      // A configuration error, not the fault of a request.
      return failed(new BatchwiseError('HANDLER_FAILED', text, options));
    default:
      if (!hasTrailers) return outage(new BatchwiseError('UNAVAILABLE', text, options), isUnseen);
      if (status === STATUS.CANCELLED) return failed(new BatchwiseError('UNAVAILABLE', text, options));
      return failed(new Error(text, options));
  }
}

/** Whether the upstream sent the status, and the status is a valid gRPC status. */
function isStatus({ status, trailers }: CallEnd): boolean {
  return Number(trailers['grpc-status']) === status && STATUSES.has(status);
}

function invalidStatus({ trailers }: CallEnd): Error {
  const status = String(trailers['grpc-status'] ?? '');
  return new Error(
    status === '0' ? 'the stream ended inside a message.' : `invalid grpc-status ${quoted(status)}.`,
  );
}

/** Callers get the message of the upstream, but not connection errors, because these contain addresses. */
function textOf({ status, message, isUnseen, cause }: CallEnd, hasTrailers: boolean): string {
  let text = message;
  if (!hasTrailers) {
    if (status === STATUS.DEADLINE_EXCEEDED) text = 'no response in time';
    else if (cause !== undefined) text = connectionLoss(cause);
    else text = isUnseen ? 'the call was not accepted' : 'the call was reset';
  }
  return text === '' ? statusName(status) : `${statusName(status)}: ${text}`;
}

function pushbackOf({ trailers }: CallEnd): { retryAfterMs?: number } {
  const text = String(trailers['grpc-retry-pushback-ms'] ?? '');
  return /^\d{1,9}$/.test(text) ? { retryAfterMs: Number(text) } : {};
}
