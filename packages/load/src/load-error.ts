/** Everything that is wrong before a run: the message says what was expected, what came and what to do. */
export type LoadErrorCode =
  /** An option, a URL, a body or a scenario file is invalid. */
  | 'INVALID_OPTION'
  /** The target cannot be reached or does not know what is asked of it, before the first request. */
  | 'UNREACHABLE';

export class LoadError extends Error {
  readonly code: LoadErrorCode;

  constructor(code: LoadErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LoadError';
    this.code = code;
  }
}
