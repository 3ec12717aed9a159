/** Error answers of the admin server: problem details (RFC 9457), equal to those of the model server. */

const PROBLEMS = {
  BAD_REQUEST: { status: 400, title: 'Invalid request' },
  NOT_FOUND: { status: 404, title: 'Not found' },
  METHOD_NOT_ALLOWED: { status: 405, title: 'Method not allowed' },
  REQUEST_TIMEOUT: { status: 408, title: 'The request took too long to arrive' },
  WRONG_HOST: { status: 421, title: 'The host name is not accepted' },
  HEADERS_TOO_LARGE: { status: 431, title: 'The headers are too large' },
  INTERNAL: { status: 500, title: 'Internal server error' },
  NOT_READY: { status: 503, title: 'The server is not ready' },
} as const;

export type AdminProblemCode = keyof typeof PROBLEMS;

export interface AdminAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function adminProblem(
  code: AdminProblemCode,
  detail: string,
  requestId: string,
  headers: Readonly<Record<string, string>> = {},
): AdminAnswer {
  const { status, title } = PROBLEMS[code];
  const retry = status === 503 ? { 'retry-after': '1', 'retry-after-ms': '1000' } : {};
  return {
    status,
    headers: { 'content-type': 'application/problem+json', ...retry, ...headers },
    body: JSON.stringify({
      type: `urn:batchwise:error:${code}`,
      title,
      status,
      detail,
      error: detail,
      code,
      request_id: requestId,
    }),
  };
}

/** The problem of a malformed request; undefined if the connection failed and no answer can be sent. */
export function problemOfParseError(
  { code = '', message }: NodeJS.ErrnoException,
  maxHeaderBytes: number,
): readonly [code: AdminProblemCode, detail: string] | undefined {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return ['REQUEST_TIMEOUT', 'The request did not arrive in time.'];
    case 'HPE_HEADER_OVERFLOW':
      return ['HEADERS_TOO_LARGE', `expected at most ${maxHeaderBytes} bytes of path and headers, got more.`];
    // The client closed the connection within a request.
    case 'HPE_INVALID_EOF_STATE':
      return undefined;
    default:
      if (!code.startsWith('HPE_')) return undefined;
      return ['BAD_REQUEST', `expected an HTTP/1.1 request (RFC 9112), got an invalid one: ${message}.`];
  }
}
