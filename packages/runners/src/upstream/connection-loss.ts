/** The reason for a connection failure, for callers. It contains no address: addresses are only in the cause. */
export function connectionLoss(cause: Error | undefined): string {
  const { code } = (cause ?? {}) as NodeJS.ErrnoException;
  return code === undefined ? 'the connection failed' : `the connection failed (${code})`;
}
