/** Repeats a request that fails while a process restarts. Returns its first answer. */
export async function repeated<T>(request: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await request();
    } catch {
      // Other events must get their turn: a request may be rejected at once.
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}
