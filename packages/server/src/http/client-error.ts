/** What to tell a client whose bytes are no HTTP, come too slowly or are too many in front of the body. */
import { STATUS_CODES } from 'node:http';
import { RequestError } from '../request-error.js';
import type { HttpLimits } from './http-limits.js';
import { problemOf } from './problem.js';
import { nextRequestId } from './request-id.js';

/** Nothing when it is the connection that failed: then there is nobody to tell. */
export function refusalOf(error: NodeJS.ErrnoException, limits: HttpLimits): RequestError | undefined {
  const { code = '', message } = error;
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new RequestError('REQUEST_TIMEOUT', 'The request did not arrive in time.', { cause: error });
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    const expected = `expected at most ${limits.maxHeaderBytes} bytes of path and headers, got more.`;
    return new RequestError('HEADERS_TOO_LARGE', expected, { cause: error });
  }
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') {
    return new RequestError('TOO_LARGE', 'expected chunks without long extensions.', { cause: error });
  }
  // The end came in the middle of a request: whoever sent it has hung up.
  if (code === 'HPE_INVALID_EOF_STATE') return undefined;
  if (code.startsWith('HPE_')) {
    return new RequestError('BAD_REQUEST', `expected HTTP/1.1, got what is none (${message}).`, {
      cause: error,
    });
  }
  return undefined;
}

/** The whole answer as it goes over the wire, for when there is no request to answer. */
export function malformedAnswer(refusal: RequestError): string {
  const id = nextRequestId();
  const { status, headers, body } = problemOf(refusal, id);
  const lines = Object.entries({
    ...headers,
    'x-request-id': id,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}
