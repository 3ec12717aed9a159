/**
 * What a request of either protocol may ask of the queue, where its headers are trusted: any client that may set
 * its priority or its tenant can keep all others waiting. `where` is what an error calls the place it is said at.
 */

import { quoted, type Runner } from '@batchwise/runners';
import type { EnqueueOptions } from 'batchwise';
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
 * Makes the connection of a request its tenant, where the content of requests decides which may share a batch: a client
 * with a new input shape in each request would get a batch for each of them. Not where headers are trusted, since a
 * proxy is in front and its connections carry the requests of many clients; nor where a priority or a tenant is chosen.
 * Without groups there is nothing to gain, and a tenant for each of 1,000 connections costs a sixth of the throughput.
 */
export function withPeerTenant(
  options: EnqueueOptions | undefined,
  { isGrouped }: Pick<Runner, 'isGrouped'>,
  peer: () => string,
  trustedHeaders: readonly TrustableHeader[] = [],
): EnqueueOptions | undefined {
  if (!isGrouped || trustedHeaders.length > 0) return options;
  if (options?.priority !== undefined || options?.tenant !== undefined) return options;
  return { ...options, tenant: peer() };
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
  throw badRequest(where, `expected 1 to 128 visible ASCII characters, got ${quoted(text)}.`);
}
