/** What a callback throws is its owner's bug: it surfaces as an uncaught error, and hurts nobody else in the batch. */
export function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
