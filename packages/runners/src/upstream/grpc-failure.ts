/** What a status of gRPC means for those whose batch it ended. */
import { type CallEnd, STATUS, statusName } from '@batchwise/grpc';
import { BatchwiseError } from 'batchwise';
import { type Failure, failed, outage } from './outcome.js';

export function grpcFailure(url: string, end: CallEnd): Failure {
  const { status, isUnseen, cause } = end;
  const text = `${url}: ${statusName(status)}${end.message === '' ? '' : `: ${end.message}`}`;
  const options = cause === undefined ? {} : { cause };
  // A reset or a lost connection comes as a status too, but nobody has sent it.
  const isSaid = Object.keys(end.trailers).length > 0;
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

function pushbackOf({ trailers }: CallEnd): { retryAfterMs?: number } {
  const text = String(trailers['grpc-retry-pushback-ms'] ?? '');
  return /^\d{1,9}$/.test(text) ? { retryAfterMs: Number(text) } : {};
}
