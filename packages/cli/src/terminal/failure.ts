import { paletteFor } from './palette.js';
import type { Terminal } from './terminal.js';

/** An error that the user can resolve: printed as a message without a stack. */
export class Failure extends Error {}

/** An invalid command line, detected after parsing. */
export class UsageFailure extends Failure {}

/** The message of any thrown value, in one line. */
export function messageOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message || thrown.name : String(thrown);
  return message.replace(/\s*\n\s*/g, ' ').trim();
}

/** `error: …` for stderr, with a red label on a terminal. */
export function errorLine(message: string, { stderr, env }: Terminal): string {
  return `${paletteFor(stderr, env).bad('error:')} ${message}\n`;
}
