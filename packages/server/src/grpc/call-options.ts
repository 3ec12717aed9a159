/** What a call says of itself beside its message: its deadline, its priority, its tenant. */
import type { Metadata, ServerUnaryCall } from '@grpc/grpc-js';
import { BatchwiseError, type EnqueueOptions } from 'batchwise';
import { PRIORITY_KEY, priorityOf, type RequestTrust, TENANT_KEY, tenantOf } from '../queue-options.js';
import { badRequest } from '../request-error.js';

export function callOptions(
  call: ServerUnaryCall<unknown, unknown>,
  { maxTimeoutMs = Number.POSITIVE_INFINITY, trustedHeaders = [] }: RequestTrust = {},
): EnqueueOptions {
  const { metadata } = call;
  return {
    timeoutMs: timeoutMs(call, maxTimeoutMs),
    priority: trustedHeaders.includes('priority') ? said(metadata, PRIORITY_KEY, priorityOf) : undefined,
    tenant: trustedHeaders.includes('tenant') ? said(metadata, TENANT_KEY, tenantOf) : undefined,
  };
}

function timeoutMs(call: ServerUnaryCall<unknown, unknown>, mostMs: number): number | undefined {
  const deadline = Number(call.getDeadline());
  if (deadline === Infinity) return mostMs === Infinity ? undefined : mostMs;
  // grpc-js keeps deadlines as times of day: the one place where that clock is read.
  const leftMs = deadline - Date.now();
  if (leftMs > 0) return Math.min(leftMs, mostMs);
  throw new BatchwiseError('DEADLINE_EXCEEDED', 'the deadline had passed when the request was complete.');
}

function said<T>(metadata: Metadata, key: string, read: (where: string, text: string) => T): T | undefined {
  const values = metadata.get(key);
  if (values.length > 1) throw badRequest(key, `expected one value, got ${values.length}.`);
  return values[0] === undefined ? undefined : read(key, values[0].toString());
}
