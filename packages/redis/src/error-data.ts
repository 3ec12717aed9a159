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

/** Never throws, whatever was thrown. */
export function errorToData(error: unknown, causes = MAX_CAUSES): ErrorData {
  if (!(error instanceof Error)) return { name: 'Error', message: textOf(() => error) };
  const name = textOf(() => error.name);
  const message = textOf(() => error.message);
  const inner = causeOf(error);
  const cause = causes > 0 && inner instanceof Error ? { cause: errorToData(inner, causes - 1) } : {};
  if (!(error instanceof BatchwiseError)) return { name, message, ...cause };
  const { code, retryAfterMs } = error;
  return { name, message, code, ...(retryAfterMs === undefined ? {} : { retryAfterMs }), ...cause };
}

function causeOf(error: Error): unknown {
  try {
    return error.cause;
  } catch {
    return undefined;
  }
}

/** Never throws: whatever was read, it is the error of one item, and must not fail the others that came with it. */
export function errorFromData(data: unknown, causes = MAX_CAUSES): Error {
  const { name, message, code, retryAfterMs, cause } = membersOf(data);
  if (typeof name !== 'string' || typeof message !== 'string') {
    return new BatchwiseError(
      'BAD_RESULT',
      'The result is malformed: expected an error with name and message.',
    );
  }
  const options = causes > 0 && isObject(cause) ? { cause: errorFromData(cause, causes - 1) } : {};
  if (name === 'BatchwiseError' && typeof code === 'string' && Object.hasOwn(ERRORS, code)) {
    const isDelay =
      typeof retryAfterMs === 'number' && retryAfterMs >= 0 && retryAfterMs < Number.POSITIVE_INFINITY;
    return new BatchwiseError(code as ErrorCode, message, {
      ...(isDelay ? { retryAfterMs } : {}),
      ...options,
    });
  }
  const error = new Error(message, options);
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true });
  return error;
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? (value as Readonly<Record<string, unknown>>) : {};
}

/** Also of a value that has no text, or throws when it is read. */
function textOf(read: () => unknown): string {
  try {
    return String(read());
  } catch {
    return 'a value that cannot be converted to text';
  }
}
