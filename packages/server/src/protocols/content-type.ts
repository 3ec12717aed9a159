/**
 * Which bodies are read: JSON, by whatever name clients send it, and JSON with binary tensors behind it.
 *
 * A page of any site can have a browser send a POST here without asking first, as long as it is a "simple request" of
 * the Fetch standard: of type text/plain, of the types of forms, or without a type. So text/plain and
 * multipart/form-data are never read, and the others not from a browser on another site's behalf. For application/json
 * the browser asks first, in a preflight that this server does not grant. What `curl -d` says when it is not told,
 * application/x-www-form-urlencoded, is still read.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { quoted } from '@batchwise/runners';
import { RequestError } from '../request-error.js';

const FORM = 'application/x-www-form-urlencoded';
const ACCEPTED = new Set(['application/json', 'application/octet-stream', FORM]);

export function checkContentType(headers: IncomingHttpHeaders): void {
  const header = headers['content-type'];
  // As nearly all send it, and not worth taking apart.
  if (header === 'application/json') return;
  if (header === undefined) {
    if (isOfOtherSite(headers))
      throw unsupported('expected application/json in a request from another site, got no content type.');
    return;
  }
  const [type = '', ...parameters] = header.toLowerCase().split(';');
  const name = type.trim();
  if (!ACCEPTED.has(name) && !/^application\/[\w.-]+\+json$/.test(name)) {
    throw unsupported(`expected application/json or application/octet-stream, got ${quoted(header)}.`);
  }
  if (name === FORM && isOfOtherSite(headers)) {
    throw unsupported(`expected application/json in a request from another site, got ${quoted(header)}.`);
  }
  for (const parameter of parameters) {
    const charset = /^\s*charset="?([^"\s]*)"?\s*$/.exec(parameter)?.[1];
    if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8' && charset !== 'us-ascii') {
      throw unsupported(`expected UTF-8, got the charset ${quoted(charset)}.`);
    }
  }
}

/**
 * Whether a browser sent it for a page of another site. Browsers say so in Sec-Fetch-Site, or where that is missing, as
 * to a plain http:// address that is not loopback, in Origin, which all of them send with a POST since 2020. Node's
 * `fetch` sends Sec-Fetch-Mode alone, and is no browser.
 */
function isOfOtherSite(headers: IncomingHttpHeaders): boolean {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site !== 'same-origin';
  if (origin !== undefined) return origin.replace(/^https?:\/\//, '') !== host;
  const mode = headers['sec-fetch-mode'];
  return headers['sec-fetch-dest'] !== undefined || (mode !== undefined && mode !== 'cors');
}

function unsupported(message: string): RequestError {
  return new RequestError('UNSUPPORTED_MEDIA_TYPE', message, { where: 'header content-type' });
}
