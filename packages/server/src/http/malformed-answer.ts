import type { RequestError } from '../request-error.js';
import { answerHead } from './answer-bytes.js';
import { problemOf } from './problem.js';
import { nextRequestId } from './request-id.js';

/** The whole answer as it goes over the wire, for when there is no request to answer. */
export function malformedAnswer(refusal: RequestError): string {
  const id = nextRequestId();
  const { status, headers, body } = problemOf(refusal, id);
  const ownLines = `x-request-id: ${id}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n`;
  return answerHead(status, ownLines, headers) + body;
}
