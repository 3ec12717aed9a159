/** Changes of rows by their key into one UPDATE. */
import type { Batcher } from 'batchwise';
import type { Column } from './column.js';
import { answerEachRow, rowsWithLastOfKey } from './last-of-key.js';
import { rowOfKey } from './returned-row.js';
import type { Database } from './run-statement.js';
import { invalidOption } from './sql-names.js';
import { type BatchingOptions, type Statement, statementBatcher } from './statement-batcher.js';
import { type ColumnTypes, quotedReturning, type Returning, Table, type TableName } from './table.js';

export interface UpdateOptions<Row extends object> extends BatchingOptions<Row> {
  readonly table: TableName;
  /** The columns of the key and those that are changed, with their types. */
  readonly columns: ColumnTypes<Row>;
  /** The columns by which the row is found. */
  readonly key: (keyof Row & string) | readonly (keyof Row & string)[];
}

/**
 * Of several changes to the same key in one batch, the last one is written, and all of their callers get its answer:
 * with `returning`, these columns of the row, or `undefined` if there is no such row; else the number of rows that
 * were changed.
 */
export function updateBatcher<Row extends object, Returned extends object>(
  database: Database,
  options: UpdateOptions<Row> & Returning<Returned>,
): Batcher<Row, Returned | undefined>;
export function updateBatcher<Row extends object>(
  database: Database,
  options: UpdateOptions<Row>,
): Batcher<Row, number>;
export function updateBatcher<Row extends object>(
  database: Database,
  options: UpdateOptions<Row> & { readonly returning?: readonly string[] },
): Batcher<Row, object | number | undefined> {
  const { table: tableName, columns, key, returning, ...batching } = options;
  const table = new Table(tableName, columns);
  const keys = table.keyColumns(key);
  const names = quotedReturning(returning);
  const statement: Statement<Row, object | number | undefined> = {
    text: updateText(table, keys, names ?? []),
    parameters: (row: Row) => table.parameters(row, keys),
    result: names === undefined ? (rows: readonly object[]) => rows.length : rowOfKey,
  };
  return statementBatcher(database, `update ${table.name}`, statement, batching);
}

function updateText(table: Table<never>, keys: readonly Column[], names: readonly string[]): string {
  const changed = table.columns.filter((column) => !keys.includes(column));
  if (changed.length === 0) throw invalidOption('columns: expected at least one column besides the key.');
  const changes = changed.map((column) => `${column.quoted} = rows.${table.alias(column)}`);
  const isRow = keys.map((column) => `target.${column.quoted} = rows.${table.alias(column)}`);
  const returned = ['rows.last_position', ...names.map((name) => `target.${name}`)];
  const update =
    `UPDATE ${table.name} AS target SET ${changes.join(', ')} FROM batchwise_rows AS rows ` +
    `WHERE rows.position = rows.last_position AND ${isRow.join(' AND ')} RETURNING ${returned.join(', ')}`;
  return answerEachRow(rowsWithLastOfKey(table, keys), update, names);
}
