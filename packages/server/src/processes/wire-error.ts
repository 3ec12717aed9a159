/**
 * Errors as data. What has a code is itself again on the other side; of all others the name and the
 * message remain. Stack traces stay where they were made: they are nobody's business who calls a server.
 */
import { BatchwiseError, ERRORS, type ErrorCode } from 'batchwise';
import { REQUEST_ERRORS, RequestError, type RequestErrorCode } from '../request-error.js';

export interface WireError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly retryAfterMs?: number;
  /** Of a request error. */
  readonly where?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: WireError;
}

/** How many causes of causes are told: a chain of them may be a ring. */
const MAX_CAUSES = 4;

export function toWireError(error: unknown, causes = MAX_CAUSES): WireError {
  if (!(error instanceof Error)) return { name: 'Error', message: textOf(error) };
  const cause =
    causes > 0 && error.cause instanceof Error ? { cause: toWireError(error.cause, causes - 1) } : {};
  const { name, message } = error;
  if (error instanceof BatchwiseError) {
    const { code, retryAfterMs } = error;
    return { name, message, code, ...(retryAfterMs === undefined ? {} : { retryAfterMs }), ...cause };
  }
  if (error instanceof RequestError) {
    const { code, where, headers } = error;
    // The message has the place in front of it; it is put there again on the other side.
    const bare = where === undefined ? message : message.slice(where.length + 2);
    return { name, message: bare, code, headers, ...(where === undefined ? {} : { where }), ...cause };
  }
  return { name: textOf(name), message: textOf(message), ...cause };
}

export function fromWireError(wire: WireError): Error {
  const { name, message, code, retryAfterMs, where, headers } = wire;
  const cause = wire.cause === undefined ? {} : { cause: fromWireError(wire.cause) };
  if (name === 'BatchwiseError' && isErrorCode(code)) {
    return new BatchwiseError(code, message, {
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...cause,
    });
  }
  if (name === 'RequestError' && isRequestErrorCode(code)) {
    return new RequestError(code, message, {
      ...(where === undefined ? {} : { where }),
      ...(headers === undefined ? {} : { headers }),
      ...cause,
    });
  }
  const error = new Error(message, cause);
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true });
  return error;
}

function isErrorCode(code: string | undefined): code is ErrorCode {
  return code !== undefined && Object.hasOwn(ERRORS, code);
}

function isRequestErrorCode(code: string | undefined): code is RequestErrorCode {
  return code !== undefined && Object.hasOwn(REQUEST_ERRORS, code);
}

/** Whatever was thrown: also what has no text, or throws when asked for it. */
function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return 'something that cannot be told';
  }
}
