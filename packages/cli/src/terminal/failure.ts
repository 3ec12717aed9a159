/** An error that the user can resolve: printed as a message without a stack. */
export class Failure extends Error {}

/** An invalid command line, detected after parsing. */
export class UsageFailure extends Failure {}

/** The message of any thrown value, in one line. */
export function messageOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message || thrown.name : String(thrown);
  return message.replace(/\s*\n\s*/g, ' ').trim();
}
