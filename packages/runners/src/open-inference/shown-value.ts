/** Formats received values for error messages: as JSON if short, never the whole content. */

const MAX_TEXT = 60;

export function shownValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return quoted(value);
    case 'number':
    case 'boolean':
      return String(value);
    case 'bigint':
      return `${value}n`;
    case 'undefined':
      return 'nothing';
    case 'symbol':
      return 'a symbol';
    case 'function':
      return 'a function';
    default:
      return value === null ? 'null' : shownObject(value as object);
  }
}

export function quoted(text: string): string {
  return JSON.stringify(text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`);
}

/** `"a", "b" and 3 more`. */
export function quotedList(names: Iterable<string>, most = 10): string {
  const all = [...names];
  const shown = all.slice(0, most).map(quoted).join(', ');
  return all.length <= most ? shown : `${shown} and ${all.length - most} more`;
}

function shownObject(value: object): string {
  if (Array.isArray(value)) return `an array of ${value.length}`;
  const made = value.constructor;
  const name = typeof made === 'function' ? made.name : '';
  return name === '' || name === 'Object' ? 'an object' : `an object (${name})`;
}
