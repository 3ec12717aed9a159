/** Look-ups by key into one SELECT. */
import { type Batcher, BatchwiseError } from 'batchwise';
import { rowOfKey } from './returned-row.js';
import type { Database } from './run-statement.js';
import { type BatchingOptions, statementBatcher } from './statement-batcher.js';
import { POSITION, quotedReturning, type Returning, Table, type TableName } from './table.js';

/** A value of the key column: for `int8`, a number, a bigint or a string. */
export type LookupKey = string | number | bigint | boolean | Date | Uint8Array;

export interface LookupOptions<Key extends LookupKey, Returned extends object>
  extends BatchingOptions<Key>,
    Returning<Returned> {
  readonly table: TableName;
  /** The unique column by which rows are found. */
  readonly key: string;
  /** The type of that column. */
  readonly type: string;
}

/**
 * Each caller gets the columns `returning` of the row with its key, or `undefined` if there is none.
 *
 * PostgreSQL matches rows to keys: it joins the table with the keys and returns the position of the key with each row.
 * `key = any($1)` returns rows only, and a key may look different from the value in the row that it equals: `'07'`
 * and 7, a UUID in capitals, a number and the string that the driver makes of an `int8`.
 */
export function lookupBatcher<Returned extends object, Key extends LookupKey = LookupKey>(
  database: Database,
  options: LookupOptions<Key, Returned>,
): Batcher<Key, Returned | undefined> {
  const { table: tableName, key, type, returning, ...batching } = options;
  const table = new Table<Record<string, Key>>(tableName, { [key]: type });
  const keys = table.keyColumns(key);
  const names = (quotedReturning(returning ?? null) ?? []).map((name) => `target.${name}`);
  const statement = {
    text:
      `SELECT keys.position::int4 AS ${POSITION}, ${names.join(', ')} FROM (${table.rows}) AS keys ` +
      `JOIN ${table.name} AS target ON target.${keys[0]?.quoted} = keys.c1`,
    parameters: (value: Key) => {
      if (value === null || value === undefined) {
        throw new BatchwiseError('INVALID_ITEM', `Expected a key, got ${value}.`);
      }
      return table.parameters({ [key]: value }, keys);
    },
    result: (rows: readonly object[]) => rowOfKey(rows) as Returned | undefined | Error,
  };
  return statementBatcher(database, `lookup ${table.name}`, statement, batching);
}
