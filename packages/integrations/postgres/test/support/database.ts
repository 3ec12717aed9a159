/** A PostgreSQL server for the tests of one file, with a pool of connections to it. */
import { BatchwiseError, onBatch } from 'batchwise';
import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { startPostgres } from '../../../../../scripts/services/postgres.js';

export interface TestDatabase {
  readonly url: string;
  readonly pool: pg.Pool;
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** Resolves when the query returns a row. */
  until(text: string, values?: unknown[]): Promise<void>;
}

export function useDatabase(): TestDatabase {
  let server: Awaited<ReturnType<typeof startPostgres>> | undefined;
  let pool: pg.Pool | undefined;

  beforeAll(async () => {
    server = await startPostgres();
    pool = new pg.Pool({ connectionString: server.url });
  });
  afterAll(async () => {
    await pool?.end();
    await server?.stop();
  });

  const database = {
    get url() {
      return server?.url ?? '';
    },
    get pool() {
      if (pool === undefined) throw new Error('The database is started before the first test.');
      return pool;
    },
    query: async (text: string, values: unknown[] = []) => (await database.pool.query(text, values)).rows,
    until: async (text: string, values: unknown[] = []) => {
      while ((await database.query(text, values)).length === 0);
    },
  };
  return database;
}

/** The codes of what failed, and the values of what did not. */
export async function outcomes(calls: readonly Promise<unknown>[]): Promise<unknown[]> {
  const settled = await Promise.allSettled(calls);
  return settled.map((call) => (call.status === 'fulfilled' ? call.value : codeOf(call.reason)));
}

export function codeOf(error: unknown): unknown {
  if (error instanceof BatchwiseError) return error.code;
  return error instanceof Error && 'code' in error ? error.code : error;
}

/** How often the handler was called for each batch from now on. */
export function countCalls(): { readonly calls: number[]; stop(): void } {
  const calls: number[] = [];
  return { calls, stop: onBatch((batch) => calls.push(batch.calls)) };
}
