/**
 * Why a start fails, given time enough to find out: with a short one first, so that a quick machine need not wait,
 * and with more where the machine was too slow to get an answer in it.
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
