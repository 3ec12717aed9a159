/** Rows into one INSERT. */
import type { Batcher } from 'batchwise';
import { STORED_POSITION, storingPositions } from './marked-rows.js';
import { writtenRow } from './returned-row.js';
import type { Database } from './run-statement.js';
import { type BatchingOptions, statementBatcher } from './statement-batcher.js';
import {
  type ColumnTypes,
  POSITION,
  quotedReturning,
  type Returning,
  Table,
  type TableName,
} from './table.js';

export interface InsertOptions<Row extends object> extends BatchingOptions<Row> {
  readonly table: TableName;
  /** The columns that every row has, with their types. Other columns of the table get their defaults. */
  readonly columns: ColumnTypes<Row>;
}

/** With `returning`, each caller gets these columns of its row, else `undefined`. */
export function insertBatcher<Row extends object, Returned extends object>(
  database: Database,
  options: InsertOptions<Row> & Returning<Returned>,
): Batcher<Row, Returned>;
export function insertBatcher<Row extends object>(
  database: Database,
  options: InsertOptions<Row>,
): Batcher<Row, undefined>;
export function insertBatcher<Row extends object>(
  database: Database,
  options: InsertOptions<Row> & { readonly returning?: readonly string[] },
): Batcher<Row, object | undefined> {
  const { table: tableName, columns, returning, ...batching } = options;
  const table = new Table(tableName, columns);
  const names = quotedReturning(returning);
  const statement = {
    text: insertText(table, names),
    parameters: (row: Row) => table.parameters(row),
    result: names === undefined ? () => undefined : writtenRow,
  };
  return statementBatcher(database, `insert ${table.name}`, statement, batching);
}

function insertText(table: Table<never>, names: readonly string[] | undefined): string {
  const rows = `${table.rows} ORDER BY position`;
  const insert = (query: string) =>
    `INSERT INTO ${table.name} (${table.quotedColumns}) SELECT ${table.aliases} FROM (${query}) AS rows`;
  if (names === undefined) return insert(rows);
  const returned = [`${STORED_POSITION} AS ${POSITION}`, ...names].join(', ');
  return `${insert(storingPositions(table, rows))} RETURNING ${returned}`;
}
