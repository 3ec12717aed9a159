/** The outcome of a request in metrics, for all protocols. */
import { ERRORS } from 'batchwise';

export const OUTCOMES = ['ok', 'refused', 'invalid', 'late', 'cancelled', 'unavailable', 'failed'] as const;

export type Outcome = (typeof OUTCOMES)[number];

/** The index is the number of the gRPC status. */
const GRPC_STATUSES: readonly (readonly [name: string, outcome: Outcome])[] = [
  ['OK', 'ok'],
  ['CANCELLED', 'cancelled'],
  ['UNKNOWN', 'failed'],
  ['INVALID_ARGUMENT', 'invalid'],
  ['DEADLINE_EXCEEDED', 'late'],
  ['NOT_FOUND', 'invalid'],
  ['ALREADY_EXISTS', 'invalid'],
  ['PERMISSION_DENIED', 'invalid'],
  ['RESOURCE_EXHAUSTED', 'refused'],
  ['FAILED_PRECONDITION', 'invalid'],
  ['ABORTED', 'failed'],
  ['OUT_OF_RANGE', 'invalid'],
  ['UNIMPLEMENTED', 'invalid'],
  ['INTERNAL', 'failed'],
  ['UNAVAILABLE', 'unavailable'],
  ['DATA_LOSS', 'failed'],
  ['UNAUTHENTICATED', 'invalid'],
];

const BY_NAME: ReadonlyMap<string, Outcome> = new Map([
  ...GRPC_STATUSES,
  ...Object.entries(ERRORS).map(([code, { httpStatus }]) => [code, outcomeOfHttp(httpStatus)] as const),
]);

/**
 * The outcome of an HTTP status, a gRPC status (number or name) or an error code of the batcher. An unknown status is
 * `failed`.
 */
export function outcomeOf(status: number | string): Outcome {
  if (typeof status === 'string') return BY_NAME.get(status) ?? 'failed';
  // No HTTP status is below 100, no gRPC status above 16.
  if (status < 100) return GRPC_STATUSES[status]?.[1] ?? 'failed';
  return outcomeOfHttp(status);
}

function outcomeOfHttp(status: number): Outcome {
  switch (status) {
    case 408:
    case 504:
      return 'late';
    case 429:
      return 'refused';
    case 499:
      return 'cancelled';
    case 503:
      return 'unavailable';
    default:
      if (status < 400) return 'ok';
      return status < 500 ? 'invalid' : 'failed';
  }
}
