/**
 * What a request of either protocol may ask of the queue, where its headers are trusted: any client that may set
 * its priority or its tenant can keep all others waiting. `where` is what an error calls the place it is said at.
 */

import { quoted } from '@batchwise/runners';
import { badRequest } from './request-error.js';

/** The headers that count only where the settings say so. */
export const TRUSTABLE_HEADERS = ['priority', 'tenant'] as const;
export type TrustableHeader = (typeof TRUSTABLE_HEADERS)[number];

export interface RequestTrust {
  /** The most that a request may ask for by its time-out; longer ones are cut to it. */
  readonly maxTimeoutMs?: number | undefined;
  /** The others are ignored. @default none */
  readonly trustedHeaders?: readonly TrustableHeader[] | undefined;
}

/**
 * The tenant of a request that names none. The requests of one connection are one tenant, so that a connection with
 * many requests, or with many input shapes, gets its share and no more. Where headers are trusted, a proxy is in front
 * and its connections carry the requests of many clients: then the connection says nothing.
 */
export function peerTenant(peer: string, trusted: readonly TrustableHeader[]): string | undefined {
  return trusted.length === 0 ? peer : undefined;
}

export const PRIORITY_KEY = 'batchwise-priority';
export const TENANT_KEY = 'batchwise-tenant';

const HIGHEST_PRIORITY = 100;

export function priorityOf(where: string, text: string): number {
  const priority = /^[+-]?\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (Math.abs(priority) <= HIGHEST_PRIORITY) return priority;
  const expected = `a whole number from -${HIGHEST_PRIORITY} to ${HIGHEST_PRIORITY}`;
  throw badRequest(where, `expected ${expected}, got ${quoted(text)}.`);
}

export function tenantOf(where: string, text: string): string {
  if (/^[\x21-\x7e]{1,128}$/.test(text)) return text;
  throw badRequest(where, `expected 1 to 128 visible characters of ASCII, got ${quoted(text)}.`);
}
