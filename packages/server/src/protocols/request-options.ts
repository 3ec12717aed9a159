/** What a single request may ask of the queue, from its headers. */
import type { IncomingHttpHeaders } from 'node:http';
import type { EnqueueOptions } from 'batchwise';
import { badRequest } from '../request-error.js';
import { quoted } from './describe-json.js';

const TIMEOUT = 'batchwise-timeout-ms';
const PRIORITY = 'batchwise-priority';
const TENANT = 'batchwise-tenant';

/** Longer time-outs than `maxTimeoutMs` are cut to it. Undefined when nothing is asked for. */
export function requestOptions(
  headers: IncomingHttpHeaders,
  maxTimeoutMs = Number.POSITIVE_INFINITY,
): EnqueueOptions | undefined {
  const timeoutMs = readTimeout(headers[TIMEOUT], maxTimeoutMs);
  const priority = readPriority(headers[PRIORITY]);
  const tenant = readTenant(headers[TENANT]);
  if (timeoutMs === undefined && priority === undefined && tenant === undefined) return undefined;
  return { timeoutMs, priority, tenant };
}

type Header = string | string[] | undefined;

function readTimeout(header: Header, maxTimeoutMs: number): number | undefined {
  if (header === undefined) return undefined;
  const timeoutMs = typeof header === 'string' && /^\d{1,12}(\.\d{1,6})?$/.test(header) ? Number(header) : 0;
  if (timeoutMs === 0) throw wrong(TIMEOUT, 'a number of milliseconds above 0', header);
  return Math.min(timeoutMs, maxTimeoutMs);
}

function readPriority(header: Header): number | undefined {
  if (header === undefined) return undefined;
  const priority = typeof header === 'string' && /^[+-]?\d{1,3}$/.test(header) ? Number(header) : Number.NaN;
  if (!(Math.abs(priority) <= 100)) throw wrong(PRIORITY, 'a whole number from -100 to 100', header);
  return priority;
}

function readTenant(header: Header): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(header)) {
    throw wrong(TENANT, '1 to 128 visible characters of ASCII', header);
  }
  return header;
}

function wrong(name: string, expected: string, header: string | string[]): Error {
  return badRequest(`header ${name}`, `expected ${expected}, got ${quoted(String(header))}.`);
}
