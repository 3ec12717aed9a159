/**
 * The one error class of the package, and the one table of codes: HTTP status, gRPC status, retryable or not.
 */

/** gRPC status names used by the table, with their wire numbers. */
const GRPC_STATUS = {
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  RESOURCE_EXHAUSTED: 8,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const;

export interface ErrorKind {
  readonly httpStatus: number;
  readonly grpcStatus: keyof typeof GRPC_STATUS;
  /**
   * The same call may succeed later or elsewhere. The item was not executed, unless it was running when the batcher was
   * destroyed.
   */
  readonly retryable: boolean;
}

export const ERRORS = {
  QUEUE_FULL: { httpStatus: 429, grpcStatus: 'RESOURCE_EXHAUSTED', retryable: true },
  OVERLOADED: { httpStatus: 429, grpcStatus: 'RESOURCE_EXHAUSTED', retryable: true },
  DEADLINE_EXCEEDED: { httpStatus: 504, grpcStatus: 'DEADLINE_EXCEEDED', retryable: false },
  CANCELLED: { httpStatus: 499, grpcStatus: 'CANCELLED', retryable: false },
  CLOSED: { httpStatus: 503, grpcStatus: 'UNAVAILABLE', retryable: true },
  BAD_RESULT: { httpStatus: 500, grpcStatus: 'INTERNAL', retryable: false },
  HANDLER_FAILED: { httpStatus: 500, grpcStatus: 'INTERNAL', retryable: false },
  HANDLER_TIMEOUT: { httpStatus: 504, grpcStatus: 'DEADLINE_EXCEEDED', retryable: false },
  DEADLOCK: { httpStatus: 500, grpcStatus: 'INTERNAL', retryable: false },
  INVALID_OPTION: { httpStatus: 400, grpcStatus: 'INVALID_ARGUMENT', retryable: false },
  INVALID_ITEM: { httpStatus: 400, grpcStatus: 'INVALID_ARGUMENT', retryable: false },
  UNAVAILABLE: { httpStatus: 503, grpcStatus: 'UNAVAILABLE', retryable: true },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERRORS;

export interface BatchwiseErrorOptions {
  readonly cause?: unknown;
  readonly retryAfterMs?: number;
  /** The backend has certainly not started the batch: its items may be sent again. For errors of `Backend.run`. */
  readonly notStarted?: boolean;
}

const BRAND = Symbol.for('batchwise.error');

export class BatchwiseError extends Error {
  /**
   * True also for an error of another copy of this class: bundlers and some runtimes load the ES modules and the
   * CommonJS build in one program.
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: a subclass inherits this method, and is another class.
    if (this !== BatchwiseError) return Function.prototype[Symbol.hasInstance].call(this, value);
    return value instanceof Error && BRAND in value;
  }

  readonly code: ErrorCode;
  /** When to retry; set on `QUEUE_FULL` and `OVERLOADED`, and on `UNAVAILABLE` where a backend is to be tried again. */
  declare readonly retryAfterMs: number | undefined;
  declare readonly notStarted: boolean | undefined;

  constructor(code: ErrorCode, message: string, options: BatchwiseErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
    if (options.notStarted === true) this.notStarted = true;
  }

  override get name(): string {
    return 'BatchwiseError';
  }

  get httpStatus(): number {
    return ERRORS[this.code].httpStatus;
  }

  /** `httpStatus` for Express, Koa and http-errors. */
  get status(): number {
    return this.httpStatus;
  }

  /** `httpStatus` for Fastify and NestJS. */
  get statusCode(): number {
    return this.httpStatus;
  }

  /** HTTP headers for the response, as Express and Fastify read them: `retry-after` in seconds, if known. */
  get headers(): Readonly<Record<string, string>> {
    if (this.retryAfterMs === undefined) return {};
    return { 'retry-after': String(Math.max(1, Math.ceil(this.retryAfterMs / 1000))) };
  }

  /** Whether the message may be sent to clients. A 500 may repeat what a handler threw. */
  get expose(): boolean {
    return this.httpStatus !== 500;
  }

  /** A JSON response, for Hono, Next.js and other frameworks with `Request` and `Response`. */
  getResponse(): Response {
    const { status, code, headers } = this;
    const message = this.expose ? this.message : 'Internal Server Error';
    return Response.json({ statusCode: status, code, message }, { status, headers });
  }

  get grpcStatus(): keyof typeof GRPC_STATUS {
    return ERRORS[this.code].grpcStatus;
  }

  /** The value of the `grpc-status` trailer. */
  get grpcCode(): number {
    return GRPC_STATUS[this.grpcStatus];
  }

  get retryable(): boolean {
    return ERRORS[this.code].retryable;
  }

  /** For `JSON.stringify`, in logs and responses. */
  toJSON(): { name: string; code: ErrorCode; message: string; retryAfterMs?: number } {
    const { name, code, message, retryAfterMs } = this;
    return { name, code, message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  }
}

Object.defineProperty(BatchwiseError.prototype, BRAND, { value: true });

/** Reports what a callback threw as an uncaught error, after the current code: the other items of the batch go on. */
export function throwUncaught(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
