/** Callers that each make a call, wait for its result, and make the next one. Returns the seconds that all calls took. */
export async function inParallel(
  callers: number,
  calls: number,
  call: (index: number) => Promise<unknown>,
): Promise<number> {
  const startedAt = performance.now();
  let next = 0;
  async function caller(): Promise<void> {
    while (next < calls) await call(next++);
  }
  await Promise.all(Array.from({ length: callers }, caller));
  return (performance.now() - startedAt) / 1000;
}
