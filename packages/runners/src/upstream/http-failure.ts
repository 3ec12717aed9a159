/** What a status of HTTP means for those whose batch it ended. */
import type { IncomingHttpHeaders } from 'node:http';
import { BatchwiseError } from 'batchwise';
import { type Failure, failed, outage } from './outcome.js';

export interface HttpReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const LONGEST_TEXT = 300;

export function httpFailure(reply: HttpReply): Failure {
  const { status } = reply;
  const text = `HTTP ${status}${saidIn(reply)}`;
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
      // Of how it was set up, and of no request; unlike the failure of a model, which may be one request's.
      if (status < 500) return failed(new BatchwiseError('HANDLER_FAILED', text));
      return failed(new Error(text));
  }
}

/** Only seconds: dates need a clock that both agree on. */
function retryAfter({ headers }: HttpReply): { retryAfterMs?: number } {
  const header = headers['retry-after'];
  return header !== undefined && /^\d{1,6}$/.test(header) ? { retryAfterMs: 1000 * Number(header) } : {};
}

/** What an error of the usual servers says for itself; else the beginning of the text. */
function saidIn({ headers, body }: HttpReply): string {
  const type = headers['content-type'] ?? '';
  if (body.length === 0 || !/json|text\/plain/.test(type)) return '';
  const text = body.subarray(0, 16 * 1024).toString('utf8');
  const said = /json/.test(type) ? saidInJson(text) : text;
  const line = (said ?? text).replace(/\s+/g, ' ').trim();
  return line === '' ? '' : `: ${line.length > LONGEST_TEXT ? `${line.slice(0, LONGEST_TEXT)}…` : line}`;
}

function saidInJson(text: string): string | undefined {
  try {
    const { error, detail, message } = JSON.parse(text) as Record<string, unknown>;
    return [detail, error, message].find((part) => typeof part === 'string');
  } catch {
    return undefined;
  }
}
