/** Maps an HTTP response to the failure of a batch. */
import type { IncomingHttpHeaders } from 'node:http';
import { BatchwiseError } from 'batchwise';
import { hasNonFinite } from '../open-inference/json-body.js';
import type { MessageError } from '../open-inference/message-error.js';
import { type Failure, failed, outage, unreadable } from './outcome.js';

export interface HttpReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const MAX_TEXT = 300;

export function httpFailure(reply: HttpReply): Failure {
  const { status } = reply;
  const text = `HTTP ${status}${errorText(reply)}`;
  switch (status) {
    case 400:
    case 413:
    case 422:
      return failed(new BatchwiseError('INVALID_ITEM', text));
    case 429:
      return failed(new BatchwiseError('OVERLOADED', text, retryAfter(reply)));
    case 502:
    case 503:
      return outage(new BatchwiseError('UNAVAILABLE', text, retryAfter(reply)), false);
    case 504:
      return outage(new BatchwiseError('DEADLINE_EXCEEDED', text), false);
    default:
      // A 4xx status is a configuration error, not the fault of a request. A 5xx status may be caused by one request.
      if (status < 500) return failed(new BatchwiseError('HANDLER_FAILED', text));
      return failed(new Error(text));
  }
}

/** Only seconds: a date would need synchronized clocks. */
function retryAfter({ headers }: HttpReply): { retryAfterMs?: number } {
  const header = headers['retry-after'];
  return header !== undefined && /^\d{1,6}$/.test(header) ? { retryAfterMs: 1000 * Number(header) } : {};
}

/** The error text of common servers, else the beginning of the body. */
function errorText({ headers, body }: HttpReply): string {
  const type = headers['content-type'] ?? '';
  if (body.length === 0 || !/json|text\/plain/.test(type)) return '';
  const text = body.subarray(0, 16 * 1024).toString('utf8');
  const found = /json/.test(type) ? jsonErrorText(text) : text;
  const line = (found ?? text).replace(/\s+/g, ' ').trim();
  return line === '' ? '' : `: ${line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT)}…` : line}`;
}

function jsonErrorText(text: string): string | undefined {
  try {
    const { error, detail, message } = JSON.parse(text) as Record<string, unknown>;
    return [detail, error, message].find((part) => typeof part === 'string');
  } catch {
    return undefined;
  }
}

/** Null in place of a number. Some servers, including this project's own, write NaN as null. */
const NULL = /[[,]\s*null\s*[\],]/;
/** Only this much of the response is searched: a larger response is hardly JSON. */
const MAX_SEARCHED_BYTES = 2 ** 26;

/**
 * Python's json and TensorFlow Serving write NaN and Infinity, which are not valid JSON: one such value makes the
 * response of the whole batch invalid. The batch is then bisected, as for any failure that one item may cause.
 */
export function unreadableJson(error: MessageError, body: Buffer): Failure {
  const text = body.subarray(0, MAX_SEARCHED_BYTES).toString('latin1');
  if (!hasNonFinite(text) && !NULL.test(text)) return unreadable(error);
  return failed(
    new Error('its response contains NaN or Infinity, which JSON cannot represent.', { cause: error }),
  );
}
