/** What a call says of itself beside its message: its deadline, its priority, its tenant. */
import type { Metadata, ServerUnaryCall } from '@grpc/grpc-js';
import { BatchwiseError, type EnqueueOptions } from 'batchwise';
import { badRequest } from '../request-error.js';
import { quoted } from './quoted.js';

const PRIORITY = 'batchwise-priority';
const TENANT = 'batchwise-tenant';
const HIGHEST_PRIORITY = 100;
const LONGEST_TENANT = 128;

export function callOptions(call: ServerUnaryCall<unknown, unknown>): EnqueueOptions {
  return {
    timeoutMs: timeoutMs(call),
    priority: priority(call.metadata),
    tenant: tenant(call.metadata),
  };
}

function timeoutMs(call: ServerUnaryCall<unknown, unknown>): number | undefined {
  const deadline = Number(call.getDeadline());
  if (deadline === Infinity) return undefined;
  // grpc-js keeps deadlines as times of day: the one place where that clock is read.
  const leftMs = deadline - Date.now();
  if (leftMs > 0) return leftMs;
  throw new BatchwiseError('DEADLINE_EXCEEDED', 'the deadline had passed when the request was complete.');
}

function priority(metadata: Metadata): number | undefined {
  const text = single(metadata, PRIORITY);
  if (text === undefined) return undefined;
  const value = /^-?\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (Math.abs(value) <= HIGHEST_PRIORITY) return value;
  throw badRequest(
    PRIORITY,
    `expected a whole number from -${HIGHEST_PRIORITY} to ${HIGHEST_PRIORITY}, got ${quoted(text)}.`,
  );
}

function tenant(metadata: Metadata): string | undefined {
  const text = single(metadata, TENANT);
  if (text === undefined || (text.length > 0 && text.length <= LONGEST_TENANT)) return text;
  throw badRequest(TENANT, `expected 1 to ${LONGEST_TENANT} characters, got ${text.length}.`);
}

function single(metadata: Metadata, key: string): string | undefined {
  const values = metadata.get(key);
  if (values.length > 1) throw badRequest(key, `expected one value, got ${values.length}.`);
  return values[0]?.toString();
}
