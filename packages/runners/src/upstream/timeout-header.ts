/** How long a call may take, for the other side. HTTP has no word for it; this one is Batchwise's own, and others pass over it. */
export function timeoutHeader(timeoutMs: number): Record<string, string> {
  return Number.isFinite(timeoutMs)
    ? { 'batchwise-timeout-ms': String(Math.max(1, Math.floor(timeoutMs))) }
    : {};
}
