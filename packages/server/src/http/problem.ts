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
  QUEUE_FULL: 'Too many requests are waiting',
  OVERLOADED: 'No answer can be expected in time',
  DEADLINE_EXCEEDED: 'The time for the answer is up',
  CANCELLED: 'The request was cancelled',
  CLOSED: 'The model is shutting down',
  BAD_RESULT: 'The model gave no usable result',
  HANDLER_FAILED: 'The model failed',
  HANDLER_TIMEOUT: 'The model took too long',
  DEADLOCK: 'The model would wait for itself',
  INVALID_OPTION: 'An option of the request is wrong',
  INVALID_ITEM: 'The input is wrong',
  UNAVAILABLE: 'Not available at the moment',
  BAD_REQUEST: 'The request is wrong',
  NOT_FOUND: 'Nothing is there',
  METHOD_NOT_ALLOWED: 'The method is not allowed',
  REQUEST_TIMEOUT: 'The request took too long to arrive',
  TOO_LARGE: 'The body is too large',
  UNSUPPORTED_MEDIA_TYPE: 'The body is in a form that is not supported',
  WRONG_HOST: 'The server does not answer for this host',
  HEADERS_TOO_LARGE: 'The headers are too large',
  INTERNAL: 'The server failed',
  NOT_IMPLEMENTED: 'The server does not know how to do this',
  NOT_READY: 'The server is not ready',
  MEMORY_FULL: 'The server has no memory for the request',
  DRAINING: 'The server is shutting down',
};

const HIDDEN = 'The cause is in the log of the server, under the id of this request.';
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
