/**
 * Errors as clients of HTTP see them: a status, headers and a body of application/problem+json. What an
 * error says is shown only where this project wrote it; what user code threw goes to the log.
 */
import { BatchwiseError, ERRORS, type ErrorCode } from 'batchwise';
import { REQUEST_ERRORS, RequestError, type RequestErrorCode } from '../request-error.js';

export interface Problem {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The fault is the server's: whoever runs it wants to read the error itself. */
  readonly isFault: boolean;
}

const TITLES: Record<ErrorCode | RequestErrorCode, string> = {
  QUEUE_FULL: 'The queue is full',
  OVERLOADED: 'The server is overloaded',
  DEADLINE_EXCEEDED: 'Deadline exceeded',
  CANCELLED: 'The request was cancelled',
  CLOSED: 'The model is shutting down',
  BAD_RESULT: 'The model returned an invalid result',
  HANDLER_FAILED: 'The model failed',
  HANDLER_TIMEOUT: 'The model timed out',
  DEADLOCK: 'Deadlock',
  INVALID_OPTION: 'Invalid option',
  INVALID_ITEM: 'Invalid input',
  UNAVAILABLE: 'Temporarily unavailable',
  BAD_REQUEST: 'Invalid request',
  NOT_FOUND: 'Not found',
  METHOD_NOT_ALLOWED: 'Method not allowed',
  REQUEST_TIMEOUT: 'The request took too long to arrive',
  TOO_LARGE: 'The body is too large',
  UNSUPPORTED_MEDIA_TYPE: 'Unsupported media type',
  WRONG_HOST: 'The host name is not accepted',
  HEADERS_TOO_LARGE: 'The headers are too large',
  INTERNAL: 'Internal server error',
  NOT_IMPLEMENTED: 'Not implemented',
  NOT_READY: 'The server is not ready',
  MEMORY_FULL: 'The memory limit for requests is reached',
  DRAINING: 'The server is shutting down',
};

const HIDDEN = 'The log of the server has the cause, under the id of this request.';
/** For what is unavailable without saying how long. */
const RETRY_AFTER_MS = 1000;

export function problemOf(error: unknown, requestId: string): Problem {
  if (error instanceof BatchwiseError) {
    const { httpStatus: status } = ERRORS[error.code];
    // Its message repeats what user code threw.
    const detail = error.code === 'HANDLER_FAILED' ? HIDDEN : error.message;
    return problem(error.code, status, detail, requestId, { retryAfterMs: error.retryAfterMs });
  }
  if (error instanceof RequestError) {
    const { httpStatus: status } = REQUEST_ERRORS[error.code];
    return problem(error.code, status, error.message, requestId, error);
  }
  return problem('INTERNAL', 500, HIDDEN, requestId, {});
}

interface Extras {
  readonly where?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

function problem(
  code: ErrorCode | RequestErrorCode,
  status: number,
  detail: string,
  requestId: string,
  { where, retryAfterMs, headers }: Extras,
): Problem {
  const retryMs = wholeMs(retryAfterMs);
  return {
    status,
    headers: {
      'content-type': 'application/problem+json',
      ...retryHeaders(status, retryMs),
      ...headers,
    },
    body: JSON.stringify({
      type: `urn:batchwise:error:${code}`,
      title: TITLES[code],
      status,
      detail,
      // Where clients of the Open Inference Protocol look.
      error: detail,
      code,
      request_id: requestId,
      // Left out by JSON when there is none.
      where,
      retry_after_ms: retryMs,
    }),
    isFault: status === 500,
  };
}

function wholeMs(ms: number | undefined): number | undefined {
  return ms !== undefined && Number.isFinite(ms) ? Math.max(0, Math.ceil(ms)) : undefined;
}

/** The standard header knows whole seconds only; who wants it exact reads the other. */
function retryHeaders(status: number, ms: number | undefined): Record<string, string> {
  if (ms === undefined) return status === 503 ? retryHeaders(status, RETRY_AFTER_MS) : {};
  return { 'retry-after': String(Math.max(1, Math.ceil(ms / 1000))), 'retry-after-ms': String(ms) };
}
