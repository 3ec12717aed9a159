/**
 * Single-row inserts, upserts, updates and look-ups, sent to PostgreSQL as one statement per batch.
 *
 *     import { insertBatcher } from '@batchwise/postgres';
 *     import { Pool } from 'pg';
 *
 *     const pool = new Pool({ connectionString: process.env.DATABASE_URL });
 *     const users = insertBatcher(pool, {
 *       table: 'users',
 *       columns: { name: 'text', age: 'int4' },
 *       returning: ['id'],
 *     });
 *     const rows = await Promise.all([
 *       users.submit({ name: 'Ada', age: 36 }),
 *       users.submit({ name: 'Grace', age: 85 }),
 *     ]);
 *     console.log(rows); // [ { id: 1 }, { id: 2 } ], from one INSERT
 *     await users.close();
 *     await pool.end();
 */

export { type InsertOptions, insertBatcher } from './insert-batcher.js';
export { type LookupKey, type LookupOptions, lookupBatcher } from './lookup-batcher.js';
export type { Database, Pool, PooledClient, Queryable } from './run-statement.js';
export type { BatchingOptions } from './statement-batcher.js';
export type { ColumnTypes, Returning, TableName } from './table.js';
export { type UpdateOptions, updateBatcher } from './update-batcher.js';
export { type UpsertOptions, upsertBatcher } from './upsert-batcher.js';
