/** The only function of this package that reads a clock. */
export function nowMs(): number {
  return performance.now();
}

/** Nanoseconds per item, from milliseconds for all of them. */
export function nsEach(elapsedMs: number, items: number): number {
  return (elapsedMs * 1e6) / items;
}
