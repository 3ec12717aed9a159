/** The ids of stream entries: `<milliseconds>-<number>`. */

/** The id so many after this one, within the same millisecond. */
export function idAfter(id: string, offset: number): string {
  if (offset === 0) return id;
  const dash = id.indexOf('-');
  return `${id.slice(0, dash)}-${Number(id.slice(dash + 1)) + offset}`;
}

/** When the entry was made, in Redis' time. */
export function timeOf(id: string): number {
  return Number.parseInt(id, 10);
}

export function compareIds(a: string, b: string): number {
  const difference = timeOf(a) - timeOf(b);
  return difference !== 0 ? difference : numberOf(a) - numberOf(b);
}

function numberOf(id: string): number {
  return Number(id.slice(id.indexOf('-') + 1));
}
