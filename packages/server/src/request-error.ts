/** Errors of requests that the server detects before the batcher, with their HTTP and gRPC status. */
export const REQUEST_ERRORS = {
  BAD_REQUEST: { httpStatus: 400, grpcStatus: 'INVALID_ARGUMENT' },
  NOT_FOUND: { httpStatus: 404, grpcStatus: 'NOT_FOUND' },
  METHOD_NOT_ALLOWED: { httpStatus: 405, grpcStatus: 'UNIMPLEMENTED' },
  REQUEST_TIMEOUT: { httpStatus: 408, grpcStatus: 'DEADLINE_EXCEEDED' },
  TOO_LARGE: { httpStatus: 413, grpcStatus: 'RESOURCE_EXHAUSTED' },
  UNSUPPORTED_MEDIA_TYPE: { httpStatus: 415, grpcStatus: 'INVALID_ARGUMENT' },
  WRONG_HOST: { httpStatus: 421, grpcStatus: 'PERMISSION_DENIED' },
  HEADERS_TOO_LARGE: { httpStatus: 431, grpcStatus: 'RESOURCE_EXHAUSTED' },
  INTERNAL: { httpStatus: 500, grpcStatus: 'INTERNAL' },
  NOT_IMPLEMENTED: { httpStatus: 501, grpcStatus: 'UNIMPLEMENTED' },
  NOT_READY: { httpStatus: 503, grpcStatus: 'UNAVAILABLE' },
  MEMORY_FULL: { httpStatus: 503, grpcStatus: 'RESOURCE_EXHAUSTED' },
  DRAINING: { httpStatus: 503, grpcStatus: 'UNAVAILABLE' },
} as const;

export type RequestErrorCode = keyof typeof REQUEST_ERRORS;

export interface RequestErrorOptions {
  readonly cause?: unknown;
  /** Location in the request: `inputs[0].shape`, `row 3`, a header. */
  readonly where?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export class RequestError extends Error {
  readonly code: RequestErrorCode;
  readonly where: string | undefined;
  /** Headers of the response: `Allow`, `Retry-After`. */
  readonly headers: Readonly<Record<string, string>>;

  /** `message` has the expected and the received value; `where` is put in front of it. */
  constructor(code: RequestErrorCode, message: string, options: RequestErrorOptions = {}) {
    super(
      options.where === undefined ? message : `${options.where}: ${message}`,
      'cause' in options ? { cause: options.cause } : undefined,
    );
    this.code = code;
    this.where = options.where;
    this.headers = options.headers ?? {};
  }

  override get name(): string {
    return 'RequestError';
  }

  get httpStatus(): number {
    return REQUEST_ERRORS[this.code].httpStatus;
  }
}

export function badRequest(where: string, message: string): RequestError {
  return new RequestError('BAD_REQUEST', message, { where });
}
