/** An error before a run: the message has the expected and the given value, and advice. */
export type LoadErrorCode =
  /** An option, a URL, a body or a scenario file is invalid. */
  | 'INVALID_OPTION'
  /** The target is unreachable or does not have the requested resource, before the first request. */
  | 'UNREACHABLE';

export class LoadError extends Error {
  readonly code: LoadErrorCode;

  constructor(code: LoadErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LoadError';
    this.code = code;
  }
}
