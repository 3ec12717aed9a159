/**
 * The error of a failed start. Tries a short timeout first, so that a fast machine does not wait, and a longer one if
 * the machine was too slow for the first.
 */
export async function startFailure(
  start: (startTimeoutMs: number) => Promise<unknown>,
  why: RegExp,
): Promise<unknown> {
  for (let startTimeoutMs = 500; ; startTimeoutMs *= 4) {
    const error = await start(startTimeoutMs).then(
      () => new Error('it started'),
      (reason: Error) => reason,
    );
    if (why.test(error.message) || startTimeoutMs > 60_000) return error;
  }
}
