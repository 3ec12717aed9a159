/**
 * Several rows of one batch with the same key: the last one is written, and all of their callers are answered.
 *
 * PostgreSQL compares the keys, so that `1` and `'01'` are one integer. If the column compares in another way than
 * the declared type (`citext`, declared as `text`), PostgreSQL rejects an upsert that would write one row twice. Then
 * the batch is bisected until the two rows are in different statements, which run in the order of submission.
 */
import type { Column } from './column.js';
import { POSITION, type Table } from './table.js';

/**
 * A CTE of the rows, each with the position of the last row that has the same key. They are in the order of their
 * keys: then batches of several processes lock rows in the same order, and do not wait for each other in a circle.
 * (A deadlock that occurs all the same, with other statements, is bisected like the error of a row.)
 */
export function rowsWithLastOfKey(table: Table<never>, keys: readonly Column[]): string {
  const key = keys.map((column) => table.alias(column)).join(', ');
  const last = `max(position) OVER (PARTITION BY ${key}) AS last_position`;
  return `batchwise_rows AS (SELECT *, ${last} FROM (${table.rows}) AS rows ORDER BY ${key})`;
}

/** One row for each submitted row: what `write` returns for the last row with its key. */
export function answerEachRow(rows: string, write: string, returning: readonly string[]): string {
  const columns = [`position::int4 AS ${POSITION}`, ...returning.map((name) => `written.${name}`)];
  return (
    `WITH ${rows}, batchwise_written AS (${write}) SELECT ${columns.join(', ')} ` +
    'FROM batchwise_rows JOIN batchwise_written AS written USING (last_position)'
  );
}
