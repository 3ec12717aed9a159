/** A batcher whose handler is one SQL statement. */
import { Batcher, type BatcherOptions, BatchwiseError } from 'batchwise';
import { type Database, mayConcernOneRow, runStatement } from './run-statement.js';
import { invalidOption } from './sql-names.js';
import { POSITION } from './table.js';

/**
 * The options of a batcher. `isolate` is always on: a statement that fails because of one row had no effect, and is
 * bisected until only that row fails.
 */
export type BatchingOptions<Item> = Omit<BatcherOptions<Item>, 'isolate'>;

export interface Statement<Item, Result> {
  readonly text: string;
  /** The parameters of one item. Throws INVALID_ITEM for an item that must not be sent. */
  parameters(item: Item): unknown[];
  /** The answer of one item, from the rows that the statement returned for it. */
  result(rows: readonly object[]): Result | Error;
}

/** Rows per statement: twice the throughput of 64. 1,000 add a fifth, and a statement holds its locks twice as long. */
const MAX_BATCH_SIZE = 500;

export function statementBatcher<Item, Result>(
  database: Database,
  defaultName: string,
  statement: Statement<Item, Result>,
  options: BatchingOptions<Item>,
): Batcher<Item, Result> {
  if (typeof database?.query !== 'function') {
    throw invalidOption('Expected a pool or a client of pg as the first argument: an object with query().');
  }
  const handler = (items: readonly Item[]) => runBatch(database, statement, items);
  const defaults = { name: defaultName, maxBatchSize: MAX_BATCH_SIZE };
  return new Batcher(handler, { ...defaults, ...options, isolate: true });
}

async function runBatch<Item, Result>(
  database: Database,
  statement: Statement<Item, Result>,
  items: readonly Item[],
): Promise<(Result | Error)[]> {
  const parameters = items.map((item) => parametersOf(statement, item));
  const sent = parameters.filter((row): row is unknown[] => Array.isArray(row));
  let answers: (Result | Error)[] = [];
  if (sent.length > 0) {
    try {
      const rows = await runStatement(database, statement.text, columnsOf(sent));
      answers = answersOf(rows, sent.length, statement);
    } catch (error) {
      // Thrown, the error makes the batcher run the two halves of the batch.
      if (sent.length > 1 && mayConcernOneRow(error)) throw error;
      answers = sent.map(() => (error instanceof Error ? error : new Error(String(error))));
    }
  }
  let next = 0;
  return parameters.map((row) => (row instanceof Error ? row : (answers[next++] as Result | Error)));
}

function parametersOf<Item>(statement: Statement<Item, unknown>, item: Item): unknown[] | Error {
  try {
    return statement.parameters(item);
  } catch (error) {
    return error instanceof Error ? error : new BatchwiseError('INVALID_ITEM', String(error));
  }
}

/** One array per column. */
function columnsOf(rows: readonly unknown[][]): unknown[][] {
  const [first = []] = rows;
  return first.map((_, column) => rows.map((row) => row[column]));
}

function answersOf<Result>(
  rows: readonly object[],
  size: number,
  statement: Statement<never, Result>,
): (Result | Error)[] {
  const byItem = Array.from({ length: size }, (): object[] => []);
  for (const row of rows) {
    const { [POSITION]: position, ...returned } = row as { [POSITION]: number };
    byItem[position - 1]?.push(returned);
  }
  return byItem.map((returned) => statement.result(returned));
}
