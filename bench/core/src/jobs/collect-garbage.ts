/** A full garbage collection before a measurement. Child processes are started with `--expose-gc`. */
export function collectGarbage(): void {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error('node must be started with --expose-gc');
  // Twice, because the finalizers of the first collection may release further objects.
  gc();
  gc();
}
