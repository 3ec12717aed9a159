/** What is wrong with a message of the protocol, whoever it came from, and where in it. */
export class MessageError extends Error {
  /** `inputs[0].shape`, `body`. */
  readonly where: string;
  /** The message without the place. */
  readonly detail: string;
  /** Not malformed, but more than is accepted. */
  readonly isTooLarge: boolean;

  constructor(where: string, detail: string, isTooLarge = false) {
    super(`${where}: ${detail}`);
    this.where = where;
    this.detail = detail;
    this.isTooLarge = isTooLarge;
  }

  override get name(): string {
    return 'MessageError';
  }
}

/** `detail` says what was expected and what came. */
export function malformed(where: string, detail: string): MessageError {
  return new MessageError(where, detail);
}

/** The same for what exceeds a limit. */
export function tooLarge(where: string, detail: string): MessageError {
  return new MessageError(where, detail, true);
}
