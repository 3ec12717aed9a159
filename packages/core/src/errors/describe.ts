/** Names a value in an error message: short, safe for any value, never the whole content. */
export function describe(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return `the string ${JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)}`;
    case 'number':
    case 'boolean':
    case 'undefined':
      return String(value);
    case 'bigint':
      return `${value}n (a bigint)`;
    case 'symbol':
      return 'a symbol';
    case 'function':
      return 'a function';
    default:
      return value === null ? 'null' : describeObject(value as object);
  }
}

function describeObject(value: object): string {
  try {
    if (Array.isArray(value)) return `an array of ${value.length}`;
    const name: unknown = Object.getPrototypeOf(value)?.constructor?.name;
    if (typeof name !== 'string' || name === '' || name === 'Object') return 'an object';
    return ArrayBuffer.isView(value) && 'length' in value
      ? `an object (${name} of ${value.length})`
      : `an object (${name})`;
  } catch {
    return 'an object';
  }
}

/** What something that was thrown says of itself; anything may be thrown. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error && typeof thrown.message === 'string') return thrown.message;
  } catch {
    // A proxy or a getter that throws in its turn.
  }
  return describe(thrown);
}
