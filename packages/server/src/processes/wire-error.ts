/** Errors between the processes and threads of a server: request errors keep their code, place and headers. */
import { type ErrorData, errorCodec } from '@batchwise/runners';
import { REQUEST_ERRORS, RequestError, type RequestErrorCode } from '../request-error.js';

export interface WireError extends ErrorData {
  /** Of a request error. */
  readonly where?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: WireError;
}

/** The export `errors` of modules that run handlers on threads. */
export const errors = errorCodec<WireError>({
  toData(error) {
    if (!(error instanceof RequestError)) return undefined;
    const { name, message, code, where, headers } = error;
    // The message begins with the place, which is put there again on the other side.
    const bare = where === undefined ? message : message.slice(where.length + 2);
    return { name, message: bare, code, headers, ...(where !== undefined && { where }) };
  },
  fromData({ name, message, code, where, headers }, options) {
    if (name !== 'RequestError' || code === undefined || !Object.hasOwn(REQUEST_ERRORS, code))
      return undefined;
    return new RequestError(code as RequestErrorCode, message, {
      ...(where !== undefined && { where }),
      ...(headers !== undefined && { headers }),
      ...options,
    });
  },
});

export const { toData: toWireError, fromData: fromWireError } = errors;
