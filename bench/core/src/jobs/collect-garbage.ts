/** A full collection, to start or to weigh from. Children are started with `--expose-gc`. */
export function collectGarbage(): void {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error('node must be started with --expose-gc');
  // Twice: the first may leave behind what only its own finalizers let go of.
  gc();
  gc();
}
