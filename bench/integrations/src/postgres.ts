/** Inserts and look-ups in PostgreSQL: a statement for each row, and a statement for each batch. */
import { insertBatcher, lookupBatcher } from '@batchwise/postgres';
import pg from 'pg';
import { startPostgres } from '../../../scripts/services/postgres.js';
import { oneByOne } from './one-by-one.js';

const NOTES = [
  'One by one: the pool of pg with its 10 connections. Batched: one statement at a time, on one connection.',
  'The server runs on the same machine, over TCP, without fsync.',
];

const ROWS = 100_000;

async function startDatabase() {
  const server = await startPostgres();
  const pool = new pg.Pool({ connectionString: server.url });
  await pool.query('CREATE TABLE people (id serial PRIMARY KEY, name text, age int4)');
  return {
    pool,
    async close() {
      await pool.end();
      await server.stop();
    },
  };
}

export const postgresInsert = oneByOne({
  name: 'postgres-insert',
  item: 'insert of one row, returning its id',
  notes: NOTES,
  async start() {
    const { pool, close } = await startDatabase();
    const people = insertBatcher(pool, {
      table: 'people',
      columns: { name: 'text', age: 'int4' },
      returning: ['id'],
    });
    const insert = 'INSERT INTO people (name, age) VALUES ($1, $2) RETURNING id';
    return {
      single: (i) => pool.query(insert, [`person ${i}`, i % 100]),
      batched: (i) => people.submit({ name: `person ${i}`, age: i % 100 }),
      close,
    };
  },
});

export const postgresLookup = oneByOne({
  name: 'postgres-lookup',
  item: 'look-up of one row by its key',
  notes: [...NOTES, `${ROWS} rows.`],
  async start() {
    const { pool, close } = await startDatabase();
    await pool.query(
      `INSERT INTO people (name, age) SELECT 'person ' || n, n % 100 FROM generate_series(1, $1::int4) AS n`,
      [ROWS],
    );
    await pool.query('ANALYZE people');
    const people = lookupBatcher<{ name: string; age: number }>(pool, {
      table: 'people',
      key: 'id',
      type: 'int4',
      returning: ['name', 'age'],
    });
    // A prime, so that the keys are spread over the table.
    const key = (i: number) => 1 + ((i * 7919) % ROWS);
    return {
      single: (i) => pool.query('SELECT name, age FROM people WHERE id = $1', [key(i)]),
      batched: (i) => people.submit(key(i)),
      close,
    };
  },
});
