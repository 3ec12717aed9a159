/** What a single request may ask of the queue, from its headers. */
import type { IncomingHttpHeaders } from 'node:http';
import { quoted } from '@batchwise/runners';
import type { EnqueueOptions } from 'batchwise';
import { PRIORITY_KEY, priorityOf, type RequestTrust, TENANT_KEY, tenantOf } from '../queue-options.js';
import { badRequest } from '../request-error.js';

const TIMEOUT = 'batchwise-timeout-ms';
/** As programs write one: what is left of a deadline has as many digits as the language likes, and perhaps an exponent. */
const NUMBER = /^\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

/** Undefined when nothing is asked for. */
export function requestOptions(
  headers: IncomingHttpHeaders,
  { maxTimeoutMs = Number.POSITIVE_INFINITY, trustedHeaders = [] }: RequestTrust = {},
): EnqueueOptions | undefined {
  const timeoutMs = readTimeout(headers[TIMEOUT], maxTimeoutMs);
  const priority = trustedHeaders.includes('priority') ? said(headers, PRIORITY_KEY, priorityOf) : undefined;
  const tenant = trustedHeaders.includes('tenant') ? said(headers, TENANT_KEY, tenantOf) : undefined;
  if (timeoutMs === undefined && priority === undefined && tenant === undefined) return undefined;
  return { timeoutMs, priority, tenant };
}

function readTimeout(header: string | string[] | undefined, maxTimeoutMs: number): number | undefined {
  if (header === undefined) return undefined;
  const timeoutMs = typeof header === 'string' && NUMBER.test(header) ? Number(header) : 0;
  if (timeoutMs > 0 && timeoutMs < Number.POSITIVE_INFINITY) return Math.min(timeoutMs, maxTimeoutMs);
  const came = quoted(String(header));
  throw badRequest(`header ${TIMEOUT}`, `expected a number of milliseconds above 0, got ${came}.`);
}

/** A header that is there twice comes as one text. */
function said<T>(
  headers: IncomingHttpHeaders,
  key: string,
  read: (where: string, text: string) => T,
): T | undefined {
  const header = headers[key];
  return header === undefined ? undefined : read(`header ${key}`, String(header));
}
