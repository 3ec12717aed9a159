/** All keys as JSON has them in this project: `per_second`, not `perSecond`. Names of contenders stay. */
export function snakeCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCased);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key.replace(/[A-Z]/g, (letter, at) => (at === 0 ? letter : `_${letter.toLowerCase()}`)),
      snakeCased(inner),
    ]),
  );
}
