/**
 * How errors of a batched method travel: the gRPC status of an error, and the header that fails single items of a
 * batch. The header has one entry per item, `<index> <status> <message>`, separated by commas. Messages are
 * percent-encoded, including commas and spaces, so that the entries can be split.
 */
import { STATUS } from '@batchwise/grpc';
import type { Metadata } from '@grpc/grpc-js';
import { BatchwiseError } from 'batchwise';

export interface BatchedStatus {
  readonly code: number;
  readonly details: string;
  /** Trailing metadata of the error, if it has any. */
  readonly metadata?: Metadata;
}

/**
 * The status of an error: from a BatchwiseError, from `code` and `details` as in @grpc/grpc-js, or from `status`. Any
 * other error is INTERNAL with its message.
 */
export function batchedStatus(error: unknown): BatchedStatus {
  if (error instanceof BatchwiseError) return { code: error.grpcCode, details: error.message };
  if (typeof error !== 'object' || error === null) return { code: STATUS.INTERNAL, details: textOf(error) };
  const { code, status, details, message, metadata } = error as Record<string, unknown>;
  const ownStatus = [code, status].find(isErrorStatus);
  const text = ownStatus !== undefined && typeof details === 'string' ? details : message;
  return {
    code: ownStatus ?? STATUS.INTERNAL,
    details: typeof text === 'string' ? text : textOf(error),
    ...(isMetadata(metadata) ? { metadata } : {}),
  };
}

/** The message for a thrown value that is not an Error. */
function textOf(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  const what = typeof thrown === 'object' && thrown !== null ? 'an object without a message' : String(thrown);
  return `Expected an Error, got ${what}.`;
}

function isErrorStatus(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) > 0 && (value as number) <= STATUS.UNAUTHENTICATED;
}

/** Errors of other libraries may have a `metadata` property of another type. */
function isMetadata(value: unknown): value is Metadata {
  return typeof (value as Metadata | null | undefined)?.toHttp2Headers === 'function';
}

/**
 * Limit of all entries together. Peers reject more than 16 KiB or 100 headers. So there is one header, and messages
 * are truncated if there are many.
 */
const MAX_HEADER_BYTES = 12 * 1024;

export interface ItemError {
  readonly index: number;
  readonly status: number;
  readonly message: string;
}

/** Undefined if even the entries without messages exceed the limit. */
export function formatItemErrors(errors: readonly ItemError[]): string | undefined {
  const bare = errors.map(({ index, status }) => `${index} ${status}`);
  const separators = 3 * errors.length;
  const bareLength = bare.reduce((sum, entry) => sum + entry.length, separators);
  if (bareLength > MAX_HEADER_BYTES) return undefined;
  const maxMessageLength = Math.floor((MAX_HEADER_BYTES - bareLength) / errors.length);
  return bare
    .map((entry, i) => `${entry} ${encodedPrefix(errors[i]?.message ?? '', maxMessageLength)}`.trimEnd())
    .join(', ');
}

/** The longest prefix of the text that fits when encoded. */
function encodedPrefix(text: string, maxLength: number): string {
  // The round trip through UTF-8 replaces unpaired surrogates, which encodeURIComponent rejects.
  const whole = Buffer.from(text).toString();
  const all = encodeURIComponent(whole);
  if (all.length <= maxLength) return all;
  let cut = '';
  for (const character of whole) {
    const next = encodeURIComponent(character);
    if (cut.length + next.length > maxLength) break;
    cut += next;
  }
  return cut;
}
