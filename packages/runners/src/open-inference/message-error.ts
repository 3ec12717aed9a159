/** An invalid protocol message: the problem and its location in the message. */
export class MessageError extends Error {
  /** `inputs[0].shape`, `body`. */
  readonly where: string;
  /** The error message without the location. */
  readonly detail: string;
  /** The message exceeds a limit. */
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

/** `detail` has the expected and the received value. */
export function malformed(where: string, detail: string): MessageError {
  return new MessageError(where, detail);
}

/** For a message that exceeds a limit. */
export function tooLarge(where: string, detail: string): MessageError {
  return new MessageError(where, detail, true);
}
