/** Which row answers which id. */
import { BatchwiseError, type Results } from 'batchwise';
import type { BatchedFetchOptions, Id } from './batched-fetch.js';

/** With `missing: 'error'`, the error of an id without a row. */
export class MissingRowError extends Error {
  readonly id: Id;
  /** For HTTP frameworks. */
  readonly status = 404;
  readonly statusCode = 404;

  constructor(name: string, id: Id) {
    super(`${name}: there is no row with the key ${String(id)}.`);
    this.id = id;
  }

  override get name(): string {
    return 'MissingRowError';
  }
}

/** Ids and keys are compared as texts: an id from a URL is a text where the row has a number. */
export function matchRows<I extends Id, Row>(
  name: string,
  answer: unknown,
  ids: readonly I[],
  { rowsOf, keyOf, missing }: BatchedFetchOptions<I, Row>,
): Results<Row | undefined> {
  const rows = rowsOf === undefined ? answer : rowsOf(answer);
  if (!Array.isArray(rows)) {
    const source = rowsOf === undefined ? 'as the answer of the service' : 'from rowsOf(answer)';
    throw new BatchwiseError(
      'BAD_RESULT',
      `${name}: expected an array of rows ${source}, got ${typeof rows}.`,
    );
  }
  const byKey = new Map<string, Row | Error>();
  for (const row of rows as readonly (Row | null | undefined)[]) {
    if (row === null || row === undefined) continue;
    const key = String(keyOf(row));
    byKey.set(key, byKey.has(key) ? severalRows(name, key) : row);
  }
  return ids.map((id) => {
    const row = byKey.get(String(id));
    return row === undefined && missing === 'error' ? new MissingRowError(name, id) : row;
  });
}

function severalRows(name: string, key: string): BatchwiseError {
  return new BatchwiseError('BAD_RESULT', `${name}: expected one row with the key ${key}, got several.`);
}
