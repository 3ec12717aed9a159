export type ArenaErrorCode = 'INVALID_SCENARIO' | 'INVALID_CURVE' | 'INVALID_TRACE' | 'INVALID_PLAN';

/** Something that was given to the arena makes no sense; says where, what was expected and what came. */
export class ArenaError extends Error {
  readonly code: ArenaErrorCode;
  /** Where it is: `arrivals.times[17]`, or `line 3, column 5`. Empty for the whole. */
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
