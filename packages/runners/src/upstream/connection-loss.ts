/** Why a call has no connection, for those who must not know where it would have led: addresses are in the cause only. */
export function connectionLoss(cause: Error | undefined): string {
  const { code } = (cause ?? {}) as NodeJS.ErrnoException;
  return code === undefined ? 'the connection failed' : `the connection failed (${code})`;
}
