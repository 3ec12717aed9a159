/** Why a request has no complete response, as reports count it: few different texts, without ports and addresses. */
import { errors } from 'undici';

/** Texts for errors of undici, whose codes say nothing to a reader. Codes of the system are told as they are. */
const REASONS: Readonly<Record<string, string>> = {
  UND_ERR_SOCKET: 'connection closed without a complete response',
  UND_ERR_CONNECT_TIMEOUT: 'no connection within 10 s',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'body length differs from content-length',
  UND_ERR_HEADERS_OVERFLOW: 'response headers too large',
  UND_ERR_DESTROYED: 'stopped',
  UND_ERR_CLOSED: 'stopped',
};

export function connectionFailure(error: Error & { code?: string }): string {
  if (error instanceof errors.HTTPParserError) {
    // undici 7.30 leaves `code` undefined; what its parser expected is in the message, in parentheses.
    const [, expected] = /\((.+)\)$/.exec(error.message) ?? [];
    return expected === undefined ? 'invalid HTTP response' : `invalid HTTP response (${expected})`;
  }
  const code = codeOf(error);
  return code === undefined ? error.message : (REASONS[code] ?? code);
}

/** An attempt on several addresses fails with the errors of all of them. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as NodeJS.ErrnoException;
  if (code !== undefined) return code;
  return error instanceof AggregateError ? codeOf(error.errors[0]) : undefined;
}
