import type { OutgoingHttpHeaders } from 'node:http2';
import { isBase64 } from './binary-metadata.js';

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Throws for a header that HTTP/2 cannot carry. Node's own checks come too late: a name that is no token
 * makes it destroy the whole connection, and a value with a NUL is sent as a header more. Binary metadata that is
 * no base64 makes some peers drop it.
 */
export function checkSendable(headers: OutgoingHttpHeaders): void {
  for (const name in headers) {
    if (!NAME.test(name)) {
      if (name.startsWith(':')) continue;
      throw new TypeError(
        `expected a header name of lower-case letters, digits, '-', '_' or '.', got ${JSON.stringify(name)}`,
      );
    }
    const value = headers[name];
    if (Array.isArray(value)) for (const one of value) checkValue(name, one);
    else if (value !== undefined) checkValue(name, String(value));
  }
}

function checkValue(name: string, value: string): void {
  if (!VALUE.test(value)) {
    throw new TypeError(`expected a printable value of '${name}', got ${JSON.stringify(value.slice(0, 50))}`);
  }
  if (name.endsWith('-bin') && !isBase64(value)) {
    throw new TypeError(`expected a value of '${name}' in base64, got ${JSON.stringify(value.slice(0, 50))}`);
  }
}
