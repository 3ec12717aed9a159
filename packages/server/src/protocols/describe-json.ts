/** How error messages speak of what came: short, whatever came. */

const LONGEST_TEXT = 60;

export function describeJson(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  switch (typeof value) {
    case 'undefined':
      return 'nothing';
    case 'string':
      return quoted(value);
    case 'object':
      return 'an object';
    default:
      return String(value);
  }
}

export function quoted(text: string): string {
  return JSON.stringify(text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT)}…`);
}

/** `"a", "b" and 3 more`. */
export function quotedList(names: Iterable<string>, most = 10): string {
  const all = [...names];
  const shown = all.slice(0, most).map(quoted).join(', ');
  return all.length <= most ? shown : `${shown} and ${all.length - most} more`;
}
