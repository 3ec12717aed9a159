/** What a request is called in answers and logs. */
import { randomBytes } from 'node:crypto';

/** Visible ASCII only: fit for a header, a log line and a URL's query without escaping. */
const REPEATABLE = /^[\x21-\x7e]{1,128}$/;

const prefix = randomBytes(6).toString('base64url');
let count = 0;

/** The client's own name for it where that can be repeated safely; else one of ours. */
export function requestId(given: string | string[] | undefined): string {
  return typeof given === 'string' && REPEATABLE.test(given) ? given : nextRequestId();
}

/** Unique among processes by its prefix, within one by its number: no random bytes for each request. */
export function nextRequestId(): string {
  count += 1;
  return `${prefix}-${count.toString(36)}`;
}
