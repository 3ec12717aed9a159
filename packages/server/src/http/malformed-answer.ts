import { STATUS_CODES } from 'node:http';
import type { RequestError } from '../request-error.js';
import { problemOf } from './problem.js';
import { nextRequestId } from './request-id.js';

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
