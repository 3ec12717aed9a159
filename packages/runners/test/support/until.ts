const GENEROUS_MS = 300_000;

/** Looks until there is something; fails, in a time that no machine needs, with what was waited for. */
export async function until<T>(look: () => T | undefined | false, what: string): Promise<T> {
  const giveUpAt = performance.now() + GENEROUS_MS;
  for (;;) {
    const found = look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > giveUpAt) throw new Error(`Waited in vain for ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
