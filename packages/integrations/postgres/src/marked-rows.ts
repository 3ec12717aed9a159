/**
 * Tells which of the submitted rows a row belongs to that an INSERT returns.
 *
 * RETURNING cannot name columns of the query that is inserted, the order in which it returns rows is not documented,
 * and values do not identify a row, because a trigger may change them. So the query stores the position of each row
 * in a setting of the transaction when it produces the row, and RETURNING reads the setting.
 *
 * This is right if PostgreSQL inserts a row before it produces the next one, which is how it executes an INSERT. And
 * it is checked. If PostgreSQL read ahead, the last position would be stored before the last two rows are returned,
 * and two rows would have the same position, which `writtenRow` reports. If all positions differ, the row returned
 * with position 1 is the first one, because no other had been produced; the one with position 2 is the second one,
 * because of the two that had been produced, the first had been returned; and so on.
 */
import type { Table } from './table.js';

/** The position of the row, in RETURNING. */
export const STORED_POSITION = `current_setting('batchwise.position')::int4`;

/** The query, storing the position of each row. */
export function storingPositions(table: Table<never>, query: string): string {
  const store = `set_config('batchwise.position', position::text, true)`;
  return `SELECT ${table.aliases}, ${store} FROM (${query}) AS query`;
}
