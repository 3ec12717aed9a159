/** Whether a text that should be JSON has NaN or an infinity in it: Python's json module writes them unless told not to. */
export function hasNonFinite(text: string): boolean {
  return /[[,:\s]-?(?:NaN|Infinity)\s*[\],}]/.test(text);
}
