/**
 * The timeout of a call as a header. HTTP has no standard header for it; this one is specific to Batchwise, and other
 * servers ignore it.
 */
export function timeoutHeader(timeoutMs: number): Record<string, string> {
  return Number.isFinite(timeoutMs)
    ? { 'batchwise-timeout-ms': String(Math.max(1, Math.floor(timeoutMs))) }
    : {};
}
