/** An error with its stack and its causes, for the log. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : `\n  caused by ${errorText(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}
