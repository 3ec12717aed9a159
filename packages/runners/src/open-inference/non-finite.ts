/** Whether invalid JSON contains NaN or an infinity. Python's json module writes them by default. */
export function hasNonFinite(text: string): boolean {
  return /[[,:\s]-?(?:NaN|Infinity)\s*[\],}]/.test(text);
}
