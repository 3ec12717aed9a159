/** What became of each operation of a bulk request. */
import { BatchwiseError, type Results } from 'batchwise';

/** The answer to one operation. */
export interface BulkResult {
  readonly _index: string;
  readonly _id: string;
  readonly status: number;
  /** `not_found` for a delete of a document that does not exist. */
  readonly result?: 'created' | 'updated' | 'deleted' | 'noop' | 'not_found';
  readonly _version?: number;
  readonly _seq_no?: number;
  readonly _primary_term?: number;
  readonly [field: string]: unknown;
}

/** An operation that was rejected: a document that does not fit its mapping, a version conflict. */
export class BulkItemError extends Error {
  /** As Elasticsearch names it: `version_conflict_engine_exception`. */
  readonly type: string;
  readonly reason: string;
  readonly status: number;

  constructor(name: string, status: number, error: unknown) {
    const { type, reason } = (error ?? {}) as { type?: unknown; reason?: unknown };
    // Elasticsearch 1 has a text in place of type and reason.
    const texts = { type: String(type ?? 'unknown'), reason: String(reason ?? error ?? 'no reason given') };
    super(`${name}: the operation was rejected with status ${status}, ${texts.type}: ${texts.reason}`);
    this.type = texts.type;
    this.reason = texts.reason;
    this.status = status;
  }

  override get name(): string {
    return 'BulkItemError';
  }
}

/** The results in the order of the operations, which is that of the answer. */
export function bulkResults(name: string, answer: unknown, operations: number): Results<BulkResult> {
  const items = (answer as { items?: unknown } | null)?.items;
  if (!Array.isArray(items) || items.length !== operations) {
    const got = Array.isArray(items) ? items.length : 'none';
    const message = `${name}: expected ${operations} items in the answer to a bulk request, got ${got}.`;
    throw new BatchwiseError('BAD_RESULT', message);
  }
  return items.map((item: unknown) => outcomeOf(name, item));
}

function outcomeOf(name: string, item: unknown): BulkResult | Error {
  // The only property is named after the action.
  const [outcome] = Object.values((item ?? {}) as Record<string, BulkResult | undefined>);
  const { status, error, result }: Partial<BulkResult> = outcome ?? {};
  if (outcome === undefined || typeof status !== 'number') {
    const message = `${name}: expected an item with a status in the answer, got ${JSON.stringify(item)}.`;
    return new BatchwiseError('BAD_RESULT', message);
  }
  if (error === undefined && (status < 400 || result === 'not_found')) return outcome;
  const rejection = new BulkItemError(name, status, error);
  if (status === 429) return retryable('OVERLOADED', name, rejection);
  return status === 503 ? retryable('UNAVAILABLE', name, rejection) : rejection;
}

/** The operation was not executed: a queue was full, a shard was not there. */
function retryable(code: 'OVERLOADED' | 'UNAVAILABLE', name: string, cause: BulkItemError): BatchwiseError {
  return new BatchwiseError(code, `${name}: the operation was rejected with status ${cause.status}.`, {
    cause,
  });
}
