/** What the page's server answers, in one form: status, headers, body. */
import { STATUS_CODES } from 'node:http';

export interface PageAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

/** Nothing from elsewhere, nothing inline, and no other page may frame it. */
const POLICY = [
  "default-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Of every answer. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

export function jsonAnswer(value: unknown, status = 200): PageAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: JSON.stringify(value),
  };
}

/** RFC 9457. */
export function problemAnswer(
  status: number,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): PageAnswer {
  return {
    status,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store', ...headers },
    body: JSON.stringify({ title: STATUS_CODES[status], status, detail }),
  };
}
