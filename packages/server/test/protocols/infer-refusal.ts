/** Asks for what is wrong with a request. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Signature } from '@batchwise/runners';
import { type InferCall, parseInferRequest } from '../../src/protocols/infer-request.js';
import { RequestError } from '../../src/request-error.js';

/** Takes the body as bytes, as text, or as what JSON is made of. */
export function parseBody(body: unknown, signature: Signature, headers: IncomingHttpHeaders = {}): InferCall {
  const bytes = Buffer.isBuffer(body)
    ? body
    : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return parseInferRequest(bytes, headers, signature);
}

/** The message of the 400 that it ends in. */
export function refusalOfBody(body: unknown, signature: Signature, headers?: IncomingHttpHeaders): string {
  try {
    parseBody(body, signature, headers);
  } catch (error) {
    if (error instanceof RequestError && error.code === 'BAD_REQUEST') return error.message;
    throw error;
  }
  return 'taken';
}
