/** The ids of stream entries: `<milliseconds>-<number>`. */

/** The id so many after this one, within the same millisecond. */
export function idAfter(id: string, offset: number): string {
  if (offset === 0) return id;
  const dash = id.indexOf('-');
  return `${id.slice(0, dash)}-${Number(id.slice(dash + 1)) + offset}`;
}

/** When the entry was made, in Redis' time. */
export function timeOf(id: string): number {
  return Number(id.slice(0, id.indexOf('-')));
}

export function compareIds(a: string, b: string): number {
  const difference = timeOf(a) - timeOf(b);
  return difference !== 0
    ? difference
    : Number(a.slice(a.indexOf('-') + 1)) - Number(b.slice(b.indexOf('-') + 1));
}
