const GENEROUS_MS = 300_000;

/** Polls until there is a value. Fails after a generous timeout with the description of the awaited event. */
export async function until<T>(look: () => T | undefined | false, what: string): Promise<T> {
  const deadline = performance.now() + GENEROUS_MS;
  for (;;) {
    const found = look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`Timed out waiting for ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
