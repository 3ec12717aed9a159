/** Names a value in an error message: as JSON where that is short, never the whole content. */

const LONGEST_STRING = 40;

export function shownValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value.length > LONGEST_STRING ? `${value.slice(0, LONGEST_STRING)}…` : value);
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

function shownObject(value: object): string {
  if (Array.isArray(value)) return `an array of ${value.length}`;
  const made = value.constructor;
  const name = typeof made === 'function' ? made.name : '';
  return name === '' || name === 'Object' ? 'an object' : `an object (${name})`;
}
