/**
 * Converts errors to plain data for other threads and processes. A `BatchwiseError` is restored with its code. Other
 * errors keep their name, message and causes. Stack traces are not transferred.
 */
import { BatchwiseError, ERRORS, type ErrorCode } from 'batchwise';

export interface ErrorData {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly retryAfterMs?: number;
  readonly cause?: ErrorData;
}

/** Conversion of one more error class with all its fields. */
export interface SpecialErrors<Data extends ErrorData> {
  /** Returns undefined for other error classes. */
  toData(error: Error): Omit<Data, 'cause'> | undefined;
  fromData(data: Data, options: ErrorOptions): Error | undefined;
}

export interface ErrorCodec<Data extends ErrorData = ErrorData> {
  toData(error: unknown): Data;
  fromData(data: Data): Error;
}

/** The limit on nested causes, because they may form a cycle. */
const MAX_CAUSES = 4;

export function errorCodec<Data extends ErrorData = ErrorData>(
  special?: SpecialErrors<Data>,
): ErrorCodec<Data> {
  const toData = (error: unknown, causes: number): Data => {
    if (!(error instanceof Error)) return { name: 'Error', message: textOf(error) } as Data;
    const cause = causes > 0 && error.cause instanceof Error && { cause: toData(error.cause, causes - 1) };
    return { ...(special?.toData(error) ?? dataOf(error)), ...cause } as Data;
  };
  const fromData = (data: Data): Error => {
    const cause = data.cause === undefined ? {} : { cause: fromData(data.cause as Data) };
    return special?.fromData(data, cause) ?? errorOf(data, cause);
  };
  return { toData: (error) => toData(error, MAX_CAUSES), fromData };
}

function dataOf(error: Error): ErrorData {
  const { name, message } = error;
  if (!(error instanceof BatchwiseError)) return { name: textOf(name), message: textOf(message) };
  const { code, retryAfterMs } = error;
  return { name, message, code, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

function errorOf({ name, message, code, retryAfterMs }: ErrorData, options: ErrorOptions): Error {
  if (name === 'BatchwiseError' && code !== undefined && Object.hasOwn(ERRORS, code)) {
    const known = code as ErrorCode;
    return new BatchwiseError(known, message, {
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...options,
    });
  }
  const error = new Error(message, options);
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true });
  return error;
}

/** The text of any thrown value, including values that cannot be converted. */
function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return 'a value that cannot be converted to text';
  }
}
