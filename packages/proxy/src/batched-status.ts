/** The status that an error of a batched method becomes. */
import { STATUS } from '@batchwise/grpc';
import type { Metadata } from '@grpc/grpc-js';
import { BatchwiseError } from 'batchwise';

export interface BatchedStatus {
  readonly code: number;
  readonly details: string;
  /** Trailing metadata, when the error brings some. */
  readonly metadata?: Metadata;
}

/**
 * An error that carries a status keeps it: those of Batchwise, those in the style of @grpc/grpc-js (`code`,
 * `details`, `metadata`) and those with a `status`. Any other is INTERNAL, with its message.
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

/** Of what was thrown and is no error: a text speaks for itself, nothing else does. */
function textOf(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  const what = typeof thrown === 'object' && thrown !== null ? 'an object without a message' : String(thrown);
  return `Expected an Error that says what went wrong, got ${what}.`;
}

function isErrorStatus(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) > 0 && (value as number) <= STATUS.UNAUTHENTICATED;
}

/** Anybody's error may have a `metadata` of another kind. */
function isMetadata(value: unknown): value is Metadata {
  return typeof (value as Metadata | null | undefined)?.toHttp2Headers === 'function';
}
