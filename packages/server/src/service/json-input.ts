/** The JSON of a request to a route, before its schema sees it. */
import { isUtf8 } from 'node:buffer';
import { checkJsonSize } from '@batchwise/runners';
import { badRequest } from '../request-error.js';
import { readingRequest } from '../request-reading.js';

/** What walks a value, a schema or `JSON.stringify`, does so by calling itself: deeper ones would end the stack. */
const DEEPEST = 200;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

export function jsonInput(body: Buffer): unknown {
  if (body.length === 0) throw badRequest('body', 'expected JSON, got nothing.');
  if (!isUtf8(body)) throw badRequest('body', 'expected JSON in UTF-8, got bytes that are not UTF-8.');
  // One bracket a level: what is short cannot be deep.
  if (body.length > DEEPEST && isTooDeep(body)) {
    throw badRequest('body', `expected JSON of at most ${DEEPEST} levels, got more.`);
  }
  readingRequest(() => checkJsonSize(body));
  const text = body.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw badRequest('body', `expected JSON, but ${error instanceof Error ? error.message : error}.`);
  }
  if (mayNamePrototype(text)) dropPrototypes(value);
  return value;
}

function isTooDeep(body: Buffer): boolean {
  let depth = 0;
  for (let i = 0; i < body.length; i++) {
    const byte = body[i];
    if (byte === QUOTE) i = stringEnd(body, i + 1);
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      if (++depth > DEEPEST) return true;
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth--;
  }
  return false;
}

function stringEnd(body: Buffer, start: number): number {
  let i = start;
  while (i < body.length && body[i] !== QUOTE) i += body[i] === BACKSLASH ? 2 : 1;
  return i;
}

/** Any letter of the name may be written as an escape. Nobody does without a reason, so that is enough to look closer. */
const ESCAPED_LETTER = /\\u00(?:5f|70|72|6f|74)/i;

function mayNamePrototype(text: string): boolean {
  return text.includes('__proto__') || ESCAPED_LETTER.test(text);
}

/** As a key it is harmless here, but not where a handler copies the object: it goes. */
function dropPrototypes(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  Reflect.deleteProperty(value, '__proto__');
  for (const part of Object.values(value)) dropPrototypes(part);
}
