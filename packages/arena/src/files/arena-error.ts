export type ArenaErrorCode = 'INVALID_SCENARIO' | 'INVALID_CURVE' | 'INVALID_TRACE' | 'INVALID_PLAN';

/** Invalid input; the message says where, what was expected and what was given. */
export class ArenaError extends Error {
  readonly code: ArenaErrorCode;
  /** Location in the input: `arrivals.times[17]` or `line 3, column 5`. Empty for the whole input. */
  readonly path: string;

  constructor(code: ArenaErrorCode, path: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.path = path;
  }

  override get name(): string {
    return 'ArenaError';
  }
}
