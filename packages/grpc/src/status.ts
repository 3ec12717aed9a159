/** gRPC's status codes, and the two tables that turn what HTTP/2 says into one of them. */
export const STATUS = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

/** A number, not a union: a peer may send one that is not in the table, and it is passed on as it came. */
export type StatusCode = number;

const NAMES = new Map<number, string>(Object.entries(STATUS).map(([name, code]) => [code, name]));

/** `UNAVAILABLE` for 14; the number itself for one that gRPC does not know. */
export function statusName(code: StatusCode): string {
  return NAMES.get(code) ?? String(code);
}

/** For an answer that carries no `grpc-status`: usually a gateway or an HTTP server spoke instead. */
export function statusOfHttp(httpStatus: number): StatusCode {
  switch (httpStatus) {
    case 400:
      return STATUS.INTERNAL;
    case 401:
      return STATUS.UNAUTHENTICATED;
    case 403:
      return STATUS.PERMISSION_DENIED;
    case 404:
      return STATUS.UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
      return STATUS.UNAVAILABLE;
    default:
      return STATUS.UNKNOWN;
  }
}

/**
 * For a stream that was reset (RST_STREAM) before a status came. `isLate`: the deadline of the call has passed. Servers cancel
 * what is late, that of grpc-go does, and their word may be here before a timer of ours has fired.
 */
export function statusOfReset(http2ErrorCode: number, isLate: boolean): StatusCode {
  switch (http2ErrorCode) {
    case 0x0: // NO_ERROR
    case 0x1: // PROTOCOL_ERROR
    case 0x2: // INTERNAL_ERROR
    case 0x3: // FLOW_CONTROL_ERROR
    case 0x4: // SETTINGS_TIMEOUT
    case 0x6: // FRAME_SIZE_ERROR
    case 0x9: // COMPRESSION_ERROR
    case 0xa: // CONNECT_ERROR
      return STATUS.INTERNAL;
    case 0x7: // REFUSED_STREAM
      return STATUS.UNAVAILABLE;
    case 0x8: // CANCEL
      return isLate ? STATUS.DEADLINE_EXCEEDED : STATUS.CANCELLED;
    case 0xb: // ENHANCE_YOUR_CALM
      return STATUS.RESOURCE_EXHAUSTED;
    case 0xc: // INADEQUATE_SECURITY
      return STATUS.PERMISSION_DENIED;
    default:
      return STATUS.UNKNOWN;
  }
}
