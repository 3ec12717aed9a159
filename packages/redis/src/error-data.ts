/**
 * Errors as data. What has a code is itself again on the other side; of all others the name and the message remain.
 * Stack traces stay where they were made.
 */
import { BatchwiseError, ERRORS, type ErrorCode } from 'batchwise';

export interface ErrorData {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly retryAfterMs?: number;
  readonly cause?: ErrorData;
}

/** How many causes of causes are told: a chain of them may be a ring. */
const MAX_CAUSES = 4;

export function errorToData(error: unknown, causes = MAX_CAUSES): ErrorData {
  if (!(error instanceof Error)) return { name: 'Error', message: textOf(error) };
  const cause =
    causes > 0 && error.cause instanceof Error ? { cause: errorToData(error.cause, causes - 1) } : {};
  if (error instanceof BatchwiseError) {
    const { name, message, code, retryAfterMs } = error;
    return { name, message, code, ...(retryAfterMs === undefined ? {} : { retryAfterMs }), ...cause };
  }
  return { name: textOf(error.name), message: textOf(error.message), ...cause };
}

export function errorFromData(data: ErrorData): Error {
  const { name, message, code, retryAfterMs } = data;
  const cause = data.cause === undefined ? {} : { cause: errorFromData(data.cause) };
  if (name === 'BatchwiseError' && code !== undefined && Object.hasOwn(ERRORS, code)) {
    return new BatchwiseError(code as ErrorCode, message, {
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...cause,
    });
  }
  const error = new Error(message, cause);
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true });
  return error;
}

/** Whatever was thrown: also what has no text, or throws when asked for it. */
function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return 'something that cannot be told';
  }
}
