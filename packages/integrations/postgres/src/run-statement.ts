/** Runs one statement, and tells which of its errors a single row may have caused. */
import { BatchwiseError } from 'batchwise';

export interface Queryable {
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly object[] }>;
}

export interface PooledClient extends Queryable {
  on(event: 'error', listener: () => void): unknown;
  removeListener(event: 'error', listener: () => void): unknown;
  /** With an error, the pool closes the connection. */
  release(error?: Error): void;
}

export interface Pool extends Queryable {
  readonly totalCount: number;
  connect(): Promise<PooledClient>;
}

/** A `pg.Pool`, a `pg.Client`, or another object with their `query(text, values)`. */
export type Database = Pool | Queryable;

/**
 * `pool.query` closes the connection after every error, even one of a single row, and a batch that is bisected gets
 * several. So the statement runs on a client of the pool that is kept after an error of the statement.
 */
export async function runStatement(database: Database, text: string, values: unknown[]) {
  if (!('totalCount' in database)) return (await database.query(text, values)).rows;
  const client = await connected(database);
  // The error of a lost connection rejects the query as well; without a listener it would end the process.
  const ignore = () => {};
  client.on('error', ignore);
  let lost: Error | undefined;
  try {
    return (await client.query(text, values)).rows;
  } catch (error) {
    if (!mayConcernOneRow(error)) lost = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    client.removeListener('error', ignore);
    client.release(lost);
  }
}

async function connected(pool: Pool): Promise<PooledClient> {
  try {
    return await pool.connect();
  } catch (cause) {
    const message = `No connection to PostgreSQL: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new BatchwiseError('UNAVAILABLE', message, { cause });
  }
}

/**
 * Classes of SQLSTATE that concern the statement, the session or the server: connection (08), feature (0A),
 * transaction state (25), authorization (28), schema (3D, 3F, 42), resources (53), locks (55), cancellation and
 * shutdown (57), system (58, F0, XX001, XX002). All others may be caused by one row: values (22), constraints (23),
 * what a trigger raises (any class), deadlocks (40), which a smaller statement may avoid, and internal errors (XX000),
 * which extensions raise for values.
 */
const NOT_BY_ONE_ROW = /^(?:08|0A|25|28|3D|3F|42|53|55|57|58|F0|XX00[12])/;
/** Row-level security reports a row that it does not permit as a lack of privilege. */
const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * True if the statement had no effect and its rows may be sent again in smaller statements. After a lost connection
 * it is unknown whether the statement was executed: its rows must not be sent again.
 */
export function mayConcernOneRow(error: unknown): boolean {
  // PostgreSQL's errors have a severity. Node's errors have codes of five letters as well: EPIPE.
  if (!(error instanceof Error && 'severity' in error && 'code' in error)) return false;
  const { code } = error;
  if (typeof code !== 'string') return false;
  return code === INSUFFICIENT_PRIVILEGE || !NOT_BY_ONE_ROW.test(code);
}
