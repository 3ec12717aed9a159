/** Rows into one INSERT … ON CONFLICT DO UPDATE. */
import type { Batcher } from 'batchwise';
import type { Column } from './column.js';
import { answerEachRow, rowsWithLastOfKey } from './last-of-key.js';
import { STORED_POSITION, storingPositions } from './marked-rows.js';
import { writtenRow } from './returned-row.js';
import type { Database } from './run-statement.js';
import { type BatchingOptions, statementBatcher } from './statement-batcher.js';
import { type ColumnTypes, quotedReturning, type Returning, Table, type TableName } from './table.js';

export interface UpsertOptions<Row extends object> extends BatchingOptions<Row> {
  readonly table: TableName;
  /** The columns that every row has, with their types. */
  readonly columns: ColumnTypes<Row>;
  /** The columns of the unique constraint that decides between insert and update. */
  readonly key: (keyof Row & string) | readonly (keyof Row & string)[];
}

/**
 * Of several rows with the same key in one batch, the last one is written, and all of their callers get that row.
 * With `returning`, each caller gets these columns of the row, else `undefined`.
 */
export function upsertBatcher<Row extends object, Returned extends object>(
  database: Database,
  options: UpsertOptions<Row> & Returning<Returned>,
): Batcher<Row, Returned>;
export function upsertBatcher<Row extends object>(
  database: Database,
  options: UpsertOptions<Row>,
): Batcher<Row, undefined>;
export function upsertBatcher<Row extends object>(
  database: Database,
  options: UpsertOptions<Row> & { readonly returning?: readonly string[] },
): Batcher<Row, object | undefined> {
  const { table: tableName, columns, key, returning, ...batching } = options;
  const table = new Table(tableName, columns);
  const keys = table.keyColumns(key);
  const names = quotedReturning(returning);
  const statement = {
    text: upsertText(table, keys, names),
    parameters: (row: Row) => table.parameters(row, keys),
    result: names === undefined ? () => undefined : writtenRow,
  };
  return statementBatcher(database, `upsert ${table.name}`, statement, batching);
}

function upsertText(
  table: Table<never>,
  keys: readonly Column[],
  names: readonly string[] | undefined,
): string {
  const others = table.columns.filter((column) => !keys.includes(column));
  // A row that is nothing but its key is updated, too: RETURNING has no rows that are left as they are.
  const changes = (others.length > 0 ? others : keys).map(({ quoted }) => `${quoted} = excluded.${quoted}`);
  const conflict = keys.map(({ quoted }) => quoted).join(', ');
  const upsert = (query: string) =>
    `INSERT INTO ${table.name} (${table.quotedColumns}) SELECT ${table.aliases} FROM (${query}) AS rows ` +
    `ON CONFLICT (${conflict}) DO UPDATE SET ${changes.join(', ')}`;

  const rows = rowsWithLastOfKey(table, keys);
  const order = keys.map((column) => table.alias(column)).join(', ');
  const lastRows = `SELECT * FROM batchwise_rows WHERE position = last_position ORDER BY ${order}`;
  if (names === undefined) return `WITH ${rows} ${upsert(lastRows)}`;
  const returned = [`${STORED_POSITION} AS last_position`, ...names].join(', ');
  return answerEachRow(rows, `${upsert(storingPositions(table, lastRows))} RETURNING ${returned}`, names);
}
