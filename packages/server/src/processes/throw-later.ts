/** A sink that throws is its owner's bug: it surfaces as an uncaught error, and hurts nobody else's call. */
export function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
