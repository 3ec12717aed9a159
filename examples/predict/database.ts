/** Records of many callers, stored in PostgreSQL one by one and in batches. Needs DATABASE_URL, or PostgreSQL here. */
import { insertBatcher } from '@batchwise/postgres';
import pg from 'pg';
import { inParallel } from './in-parallel.js';

const CALLERS = 100;
const ROWS = 5000;

interface Event {
  readonly name: string | null;
  readonly value: number;
}

const database = await startDatabase();
const pool = new pg.Pool({ connectionString: database.url, max: 10 });
try {
  await pool.query('DROP TABLE IF EXISTS batchwise_events');
  await pool.query(
    'CREATE TABLE batchwise_events (id bigserial PRIMARY KEY, name text NOT NULL, value int4 NOT NULL)',
  );
  console.log(`${ROWS} rows by ${CALLERS} callers, ${pool.options.max} connections`);

  const single = await inParallel(CALLERS, ROWS, (index) =>
    pool.query('INSERT INTO batchwise_events (name, value) VALUES ($1, $2) RETURNING id', ['single', index]),
  );
  console.log(`  one INSERT per row: ${perSecond(single)}, ${ROWS} statements`);

  const events = insertBatcher<Event, { id: string }>(pool, {
    table: 'batchwise_events',
    columns: { name: 'text', value: 'int4' },
    returning: ['id'],
  });
  const batched = await inParallel(CALLERS, ROWS, (index) =>
    events.submit({ name: 'batched', value: index }),
  );
  const { batches } = events.stats();
  console.log(`  insertBatcher:      ${perSecond(batched)}, ${batches} statements`);
  console.log(`  batched / one by one: ${(single / batched).toFixed(1)}`);

  console.log('\n10 rows, one of them without a name');
  const rows = Array.from({ length: 10 }, (_, i) => ({ name: i === 3 ? null : 'mixed', value: i }));
  const results = await Promise.allSettled(rows.map((row) => events.submit(row)));
  for (const result of results)
    if (result.status === 'rejected') console.log(`  failed: ${result.reason.message}`);
  const stored = await pool.query("SELECT count(*) FROM batchwise_events WHERE name = 'mixed'");
  console.log(`  stored: ${stored.rows[0]?.count} rows`);
  await events.close();
} finally {
  await pool.query('DROP TABLE IF EXISTS batchwise_events');
  await pool.end();
  await database.stop();
}

function perSecond(seconds: number): string {
  return `${Math.round(ROWS / seconds)} rows per second`;
}

interface Database {
  readonly url: string;
  stop(): Promise<void>;
}

/** The one of DATABASE_URL, or one that is started for this program. */
async function startDatabase(): Promise<Database> {
  const url = process.env.DATABASE_URL;
  if (url !== undefined) return { url, stop: async () => {} };
  const scripts = new URL('../../../scripts/', import.meta.url);
  const { provideProgram } = await import(`${scripts}test-programs.js`);
  provideProgram('postgres');
  const { startPostgres } = (await import(`${scripts}services/postgres.js`)) as {
    startPostgres(): Promise<Database>;
  };
  return startPostgres();
}
