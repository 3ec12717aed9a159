/** The JSON of a request to a route, before its schema sees it. */
import { isUtf8 } from 'node:buffer';
import { checkJsonSize } from '@batchwise/runners';
import type { BodyLimits } from '../body-limits.js';
import { badRequest } from '../request-error.js';
import { readingRequest } from '../request-reading.js';

export function jsonInput(body: Buffer, limits: BodyLimits): unknown {
  if (body.length === 0) throw badRequest('body', 'expected JSON, got an empty body.');
  if (!isUtf8(body)) throw badRequest('body', 'expected JSON in UTF-8, got bytes that are not UTF-8.');
  readingRequest(() => checkJsonSize(body, limits));
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

/** Any letter of the name may be written as an escape. Nobody does without a reason, so that is enough to look closer. */
const ESCAPED_LETTER = /\\u00(?:5f|70|72|6f|74)/i;

function mayNamePrototype(text: string): boolean {
  return text.includes('__proto__') || ESCAPED_LETTER.test(text);
}

/** As a key it is harmless here, but not where a handler copies the object: it goes. */
function dropPrototypes(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const part of value) dropPrototypes(part);
    return;
  }
  Reflect.deleteProperty(value, '__proto__');
  for (const part of Object.values(value)) dropPrototypes(part);
}
