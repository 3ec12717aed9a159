/** Something went wrong that the user can do something about: the message is for them, no stack is needed. */
export class Failure extends Error {}

/** A mistake on the command line, found after it was parsed. */
export class UsageFailure extends Failure {}

/** What to tell of anything that was thrown, in one line. */
export function messageOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message || thrown.name : String(thrown);
  return message.replace(/\s*\n\s*/g, ' ').trim();
}
