/** What a caller gets of the rows that PostgreSQL returned for its item. */
import { BatchwiseError } from 'batchwise';

/** The row that was inserted or updated. */
export function writtenRow(rows: readonly object[]): object {
  const [row] = rows;
  if (row !== undefined && rows.length === 1) return row;
  const why = row === undefined ? 'a trigger or a rule of the table has skipped it' : 'expected one';
  return new BatchwiseError('BAD_RESULT', `PostgreSQL returned ${rows.length} rows for this row: ${why}.`);
}

/** The row with the key, or undefined. */
export function rowOfKey(rows: readonly object[]): object | undefined {
  if (rows.length <= 1) return rows[0];
  const message = `The key matches ${rows.length} rows; expected a column or columns that are unique.`;
  return new BatchwiseError('BAD_RESULT', message);
}
