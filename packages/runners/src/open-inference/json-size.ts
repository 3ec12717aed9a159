/**
 * Checks limits on JSON before it is parsed. The time to parse and walk JSON depends on the number of values, keys
 * and containers, not on the number of bytes: a million distinct keys take a second, and block the event loop. One
 * pass over the bytes counts them first.
 */
import { malformed, tooLarge } from './message-error.js';

export interface JsonLimits {
  /** All values in arrays and objects, at any depth, including arrays and objects. */
  readonly values: number;
  /** Arrays and objects. */
  readonly containers: number;
  /** Members of objects, including repeated names. */
  readonly keys: number;
  readonly depth: number;
}

/** The kinds of bytes that matter for the count. Strings are skipped. */
const OTHER = 0;
const OPEN = 1;
const CLOSE = 2;
const COMMA = 3;
const COLON = 4;
const QUOTE = 5;
const BACKSLASH = 0x5c;
const QUOTE_BYTE = 0x22;

const KINDS = new Uint8Array(256);
for (const [bytes, kind] of [
  ['[{', OPEN],
  [']}', CLOSE],
  [',', COMMA],
  [':', COLON],
  ['"', QUOTE],
] as const) {
  for (const byte of Buffer.from(bytes)) KINDS[byte] = kind;
}

/** The bytes need not be valid JSON: a parser stops at the first error and never gets further than this count. */
export function checkJsonSize(body: Uint8Array, most: JsonLimits): void {
  let values = 1;
  let containers = 0;
  let keys = 0;
  let depth = 0;
  for (let at = 0; at < body.length; at++) {
    switch (KINDS[body[at] as number]) {
      case OTHER:
        break;
      case QUOTE:
        at = stringEnd(body, at + 1);
        break;
      case OPEN:
        values += 1;
        depth += 1;
        containers += 1;
        if (depth > most.depth) throw malformed('body', text(most.depth, 'levels'));
        if (containers > most.containers) throw more(most.containers, 'arrays and objects');
        if (values > most.values) throw more(most.values, 'values');
        break;
      case CLOSE:
        depth -= 1;
        break;
      case COMMA:
        values += 1;
        if (values > most.values) throw more(most.values, 'values');
        break;
      default:
        keys += 1;
        if (keys > most.keys) throw more(most.keys, 'keys');
    }
  }
}

function stringEnd(body: Uint8Array, start: number): number {
  let at = start;
  while (at < body.length && body[at] !== QUOTE_BYTE) at += body[at] === BACKSLASH ? 2 : 1;
  return at;
}

function more(limit: number, what: string): Error {
  return tooLarge('body', text(limit, what));
}

function text(limit: number, what: string): string {
  return `expected JSON of at most ${limit} ${what}, got more.`;
}
