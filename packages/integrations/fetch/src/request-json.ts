/** One HTTP request with a JSON answer, and what its failures mean for the callers of a batch. */
import { BatchwiseError, type ErrorCode } from 'batchwise';

/** The global `fetch`, or a function like it. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The `cause` of an error for an HTTP status other than 2xx. */
export interface HttpAnswer {
  readonly method: string;
  readonly url: string;
  readonly status: number;
  readonly body: string;
}

/** How a service says what is wrong with a request. */
export interface StatusOptions {
  /**
   * Whether the service does not accept what the request contains. One item may be the reason. Not called with 429
   * and 5xx.
   * @default status 400, 413, 414 or 422
   */
  readonly isForContent?: ((status: number, body: string) => boolean) | undefined;
  /**
   * A header with milliseconds, which is preferred to `Retry-After`.
   * @default none
   */
  readonly retryAfterMsHeader?: string | undefined;
}

export interface RequestJsonOptions extends StatusOptions {
  /**
   * Sends the request.
   * @default the global fetch
   */
  readonly fetch?: Fetch | undefined;
}

/** An answer with a status other than 2xx, from `fetch` or from the client library of a service. */
export interface RejectedRequest {
  readonly status: number;
  readonly headers: Pick<Headers, 'get'>;
  readonly body: string;
  readonly cause: unknown;
}

const CONTENT_STATUSES: readonly number[] = [400, 413, 414, 422];
const MOST_SHOWN_CHARACTERS = 500;

/**
 * Sends a request and resolves to the parsed answer, for batchers of other HTTP services:
 *
 *     const prices = new Batcher(async (ids: number[], { name, signal }) => {
 *       const init = { method: 'POST', body: JSON.stringify(ids), signal };
 *       return (await requestJson(name, 'http://localhost:3000/prices', init)) as number[];
 *     });
 *
 * Rejects with a `BatchwiseError`: `UNAVAILABLE` without an answer, `BAD_RESULT` for an answer that is not JSON, and that
 * of `statusError` for a status other than 2xx.
 */
export async function requestJson(
  name: string,
  url: string,
  init: RequestInit & { readonly method: string },
  options: RequestJsonOptions = {},
): Promise<unknown> {
  const fetch = options.fetch ?? globalThis.fetch;
  let response: Response;
  let body: string;
  try {
    response = await fetch(url, init);
    body = await response.text();
  } catch (cause) {
    throw new BatchwiseError('UNAVAILABLE', `${name}: the service does not answer.`, { cause });
  }
  const { ok, status, headers } = response;
  if (!ok) {
    const cause: HttpAnswer = { method: init.method, url, status, body };
    throw statusError(name, { status, headers, body, cause }, options);
  }
  try {
    return JSON.parse(body);
  } catch (cause) {
    const message = `${name}: the answer of the service is not JSON: ${shown(body)}`;
    throw new BatchwiseError('BAD_RESULT', message, { cause });
  }
}

/**
 * The error for a status: `INVALID_ITEM` when the service does not accept the content of the request, `OVERLOADED` for
 * 429, `UNAVAILABLE` for 5xx, otherwise `HANDLER_FAILED`.
 *
 * Only messages of `INVALID_ITEM` and of errors with status 500 repeat the answer: the first is for the caller of the
 * item, and frameworks do not show the second to clients.
 */
export function statusError(
  name: string,
  { status, headers, body, cause }: RejectedRequest,
  options: StatusOptions = {},
): BatchwiseError {
  const code = codeOf(status, body, options);
  const detail = code === 'OVERLOADED' || code === 'UNAVAILABLE' ? '' : `: ${shown(body)}`;
  const retryAfterMs = retryAfterMsOf(headers, options);
  return new BatchwiseError(code, `${name}: the service answered with status ${status}${detail}`, {
    cause,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

function codeOf(status: number, body: string, { isForContent }: StatusOptions): ErrorCode {
  if (status === 429) return 'OVERLOADED';
  if (status >= 500) return 'UNAVAILABLE';
  const isRejectedContent = isForContent?.(status, body) ?? CONTENT_STATUSES.includes(status);
  return isRejectedContent ? 'INVALID_ITEM' : 'HANDLER_FAILED';
}

/** RFC 9110, 10.2.3: seconds, or a date. A date is compared with the service's own clock. */
function retryAfterMsOf(
  headers: Pick<Headers, 'get'>,
  { retryAfterMsHeader }: StatusOptions,
): number | undefined {
  const inMs = retryAfterMsHeader === undefined ? null : headers.get(retryAfterMsHeader);
  const exactMs = Number.parseFloat(inMs ?? '');
  if (exactMs >= 0) return exactMs;
  const value = headers.get('retry-after') ?? '';
  const ms = /^\s*\d/.test(value)
    ? 1000 * Number(value)
    : Date.parse(value) - Date.parse(headers.get('date') ?? '');
  return ms >= 0 ? ms : undefined;
}

function shown(text: string): string {
  return text.length > MOST_SHOWN_CHARACTERS ? `${text.slice(0, MOST_SHOWN_CHARACTERS)}…` : text;
}
