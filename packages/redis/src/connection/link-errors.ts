/** What a link says when a command has no reply, or one that is an error. */

/** Why a link is down, as a sentence without its full stop. */
export function lossText({ message }: Error): string {
  const text = message.includes('Redis') ? message : `The connection to Redis was lost: ${message}`;
  return text.replace(/\.$/, '');
}

/** The connection broke after the command was handed to it: it may or may not have been carried out. */
export class LinkLostError extends Error {
  override get name(): string {
    return 'LinkLostError';
  }
}

/** The link was closed or destroyed: the command was not sent, or, after `destroy()`, is in doubt. */
export class LinkClosedError extends Error {
  constructor() {
    super('The link to Redis is closed.');
  }

  override get name(): string {
    return 'LinkClosedError';
  }
}

/** Redis answered with an error; the message is its own. */
export class ReplyError extends Error {
  override get name(): string {
    return 'ReplyError';
  }

  /** The first word, which says what kind of error it is: `WRONGTYPE`, `NOGROUP`, `OOM`, `ERR`. */
  get code(): string {
    return this.message.split(' ', 1)[0] ?? '';
  }
}
