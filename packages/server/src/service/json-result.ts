/**
 * What a route returns, as JSON. `JSON.stringify` turns streams, bytes, maps and most class instances into `{}` or
 * into their internals without an error: such a value is rejected, at any depth.
 */
import { RequestError } from '../request-error.js';

/** @throws {RequestError} INTERNAL. Its cause is for the log: the route, the place in the result, and what came. */
export function jsonResult(route: string, result: unknown): string {
  let odd: Odd | undefined = isJson(result) ? undefined : { where: 'result', came: nameOf(result) };
  let cause: unknown;
  let text: string | undefined;
  try {
    text = odd === undefined ? JSON.stringify(result) : undefined;
    // After stringify, which ends with an error at a cycle.
    odd ??= findOdd(result, 'result');
  } catch (error) {
    cause = error;
  }
  if (odd === undefined && text !== undefined) return text;
  const { where, came } = odd ?? { where: 'result', came: 'a value that cannot be written as JSON' };
  const reason = new Error(
    `${route}: ${where}: expected JSON data (object, array, string, number, boolean, null), got ${came}. Streams, ` +
      'bytes, collections and objects without fields cannot be sent: convert them to an array, an object or a string ' +
      'first, bytes as base64.',
    { cause },
  );
  throw new RequestError(
    'INTERNAL',
    'The route returned a value that is not JSON data; the log has the location.',
    {
      cause: reason,
    },
  );
}

interface Odd {
  readonly where: string;
  readonly came: string;
}

/** The first value inside of an object or array that JSON has no form for. */
function findOdd(value: unknown, where: string): Odd | undefined {
  if (typeof value !== 'object' || value === null || hasOwnForm(value)) return undefined;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const odd = oddAt(value[i], where, i);
      if (odd !== undefined) return odd;
    }
    return undefined;
  }
  for (const key of Object.keys(value)) {
    const odd = oddAt((value as Record<string, unknown>)[key], where, key);
    if (odd !== undefined) return odd;
  }
  return undefined;
}

function oddAt(value: unknown, where: string, key: string | number): Odd | undefined {
  if (typeof value === 'number' || typeof value === 'string' || value === undefined) return undefined;
  const at = typeof key === 'number' ? `${where}[${key}]` : `${where}.${key}`;
  return isJson(value) ? findOdd(value, at) : { where: at, came: nameOf(value) };
}

function isJson(value: unknown): boolean {
  if (typeof value !== 'object') return typeof value !== 'function' && typeof value !== 'symbol';
  if (value === null || Array.isArray(value)) return true;
  // Before toJSON: a Buffer has one, which writes each byte as a number.
  if (ArrayBuffer.isView(value)) return false;
  if (hasOwnForm(value)) return true;
  if (value instanceof String || value instanceof Number || value instanceof Boolean) return true;
  if (mustBeRead(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  return isPlain || Object.keys(value).length > 0;
}

/** Dates, URLs and others that say themselves what they are in JSON. */
function hasOwnForm(value: object): boolean {
  return typeof (value as { toJSON?: unknown }).toJSON === 'function';
}

const READING = [Symbol.iterator, Symbol.asyncIterator, 'pipe', 'getReader', 'arrayBuffer', 'then'] as const;

/** A stream, a response, a generator, a collection, a promise: its content is not in its fields. */
function mustBeRead(value: object): boolean {
  return READING.some((name) => typeof (value as Partial<Record<typeof name, unknown>>)[name] === 'function');
}

function nameOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return `a ${typeof value}`;
  const { name } = (value.constructor ?? {}) as { name?: unknown };
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  return `an object of type ${typeof name === 'string' && name !== '' ? name : tag}`;
}
