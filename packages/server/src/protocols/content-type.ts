/** Which bodies are read: JSON, by whatever name clients send it, and JSON with binary tensors behind it. */
import type { IncomingHttpHeaders } from 'node:http';
import { quoted } from '@batchwise/runners';
import { RequestError } from '../request-error.js';

/** The last two are what `curl -d` and browsers say when they were not told. */
const ACCEPTED = new Set([
  'application/json',
  'application/octet-stream',
  'application/x-www-form-urlencoded',
  'text/plain',
]);

export function checkContentType(headers: IncomingHttpHeaders): void {
  const header = headers['content-type'];
  // As nearly all send it, and not worth taking apart.
  if (header === undefined || header === 'application/json') return;
  const [type = '', ...parameters] = header.toLowerCase().split(';');
  const name = type.trim();
  if (!ACCEPTED.has(name) && !/^application\/[\w.-]+\+json$/.test(name)) {
    throw unsupported(`expected application/json or application/octet-stream, got ${quoted(header)}.`);
  }
  for (const parameter of parameters) {
    const charset = /^\s*charset="?([^"\s]*)"?\s*$/.exec(parameter)?.[1];
    if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8' && charset !== 'us-ascii') {
      throw unsupported(`expected UTF-8, got the charset ${quoted(charset)}.`);
    }
  }
}

function unsupported(message: string): RequestError {
  return new RequestError('UNSUPPORTED_MEDIA_TYPE', message, { where: 'header content-type' });
}
