/**
 * What clients are told of a fault of a backend: plain words. Addresses, ports, error codes and internals are for the log
 * of the proxy only. A status that a backend has sent itself is passed on as it is.
 */
import { GrpcError, STATUS } from '@batchwise/grpc';

export const UNAVAILABLE_TEXT = 'The backend is unavailable.';

const TEXTS: Readonly<Record<number, string>> = {
  [STATUS.CANCELLED]: 'The backend cancelled the call.',
  [STATUS.DEADLINE_EXCEEDED]: 'The deadline of the call has passed.',
  [STATUS.RESOURCE_EXHAUSTED]: 'The call or its answer is larger than allowed, or the backend is overloaded.',
  [STATUS.UNIMPLEMENTED]: 'The backend does not serve this method.',
  [STATUS.UNAVAILABLE]: UNAVAILABLE_TEXT,
  [STATUS.UNAUTHENTICATED]: 'The backend did not accept the credentials of the call.',
  [STATUS.PERMISSION_DENIED]: 'The backend denied the call.',
};

export function backendFault(status: number, cause?: unknown): GrpcError {
  const text = TEXTS[status] ?? 'The backend did not answer as expected.';
  return new GrpcError(status, text, cause === undefined ? {} : { cause });
}
