/** Inserts into a real PostgreSQL. */
import type { Batcher } from 'batchwise';
import fc from 'fast-check';
import pg from 'pg';
import { expect, expectTypeOf, test } from 'vitest';
import { readmeProgram } from '../../../fetch/test/readme-program.js';
import * as postgres from '../../src/index.js';
import { insertBatcher } from '../../src/index.js';
import { codeOf, countCalls, outcomes, useDatabase } from '../support/database.js';

const database = useDatabase();

test('rows that are submitted together are one statement, and each caller gets its own row', async () => {
  await database.query('CREATE TABLE people (id serial PRIMARY KEY, name text, age int4)');
  await database.query('CREATE TABLE statements (rows int4)');
  await database.query(`
    CREATE FUNCTION count_statement() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN INSERT INTO statements SELECT count(*) FROM inserted; RETURN NULL; END $$`);
  await database.query(`
    CREATE TRIGGER counts AFTER INSERT ON people REFERENCING NEW TABLE AS inserted
      FOR EACH STATEMENT EXECUTE FUNCTION count_statement()`);
  const people = insertBatcher(database.pool, {
    table: 'people',
    columns: { name: 'text', age: 'int4' },
    returning: ['id', 'name'],
  });

  const names = Array.from({ length: 100 }, (_, i) => `person ${i}`);
  const rows = await Promise.all(names.map((name, age) => people.submit({ name, age })));
  expect(rows).toEqual(names.map((name, i) => ({ id: i + 1, name })));
  expect(await database.query('SELECT rows FROM statements')).toEqual([{ rows: 100 }]);
});

test('without `returning`, callers get undefined', async () => {
  await database.query('CREATE TABLE log (line text)');
  const log = insertBatcher(database.pool, { table: 'log', columns: { line: 'text' } });
  expect(await log.submitMany([{ line: 'a' }, { line: 'b' }])).toEqual([undefined, undefined]);
  expect(await database.query('SELECT line FROM log ORDER BY line')).toEqual([{ line: 'a' }, { line: 'b' }]);
});

test('the types of rows and results follow from the options', () => {
  interface Person {
    name: string;
    age?: number | null;
  }
  const options = { table: 'people', columns: { name: 'text', age: 'int4' } } as const;
  expectTypeOf(insertBatcher<Person>(database.pool, options)).toEqualTypeOf<Batcher<Person, undefined>>();
  const returning = { ...options, returning: ['id'] } as const;
  const typed = insertBatcher<Person, { id: number }>(database.pool, returning);
  expectTypeOf(typed).toEqualTypeOf<Batcher<Person, { id: number }>>();
  expectTypeOf(insertBatcher(database.pool, returning).submit).returns.resolves.toHaveProperty('id');
});

test('any mixture of good and bad rows: the bad ones fail alone, the good ones are inserted once', async () => {
  await database.query(`
    CREATE TABLE mixed (
      id serial PRIMARY KEY, call int4, name text UNIQUE, amount int4 CHECK (amount >= 0), lower_name text,
      upper_name text GENERATED ALWAYS AS (upper(name)) STORED)`);
  await database.query(`
    CREATE FUNCTION lower_name() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN NEW.lower_name := lower(NEW.name); RETURN NEW; END $$`);
  await database.query(
    'CREATE TRIGGER lower_name BEFORE INSERT ON mixed FOR EACH ROW EXECUTE FUNCTION lower_name()',
  );
  const row = fc.record({
    name: fc.oneof(fc.constantFrom('Ada', 'Grace', 'Alan'), fc.string({ unit: 'grapheme' })),
    amount: fc.oneof(
      { weight: 8, arbitrary: fc.nat(1000) },
      fc.constantFrom(-1, 'many', 3e9, '7', null, undefined, [1]),
    ),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 40 }), async (rows) => {
      await database.query('TRUNCATE mixed');
      const batcher = insertBatcher<
        { call: number; name: string; amount: unknown },
        { id: number; call: number; name: string; lower_name: string; upper_name: string }
      >(database.pool, {
        table: 'mixed',
        columns: { call: 'int4', name: 'text', amount: 'int4' },
        returning: ['id', 'call', 'name', 'lower_name', 'upper_name'],
      });
      const calls = rows.map((one, call) => batcher.submit({ call, ...one }));
      const settled = await Promise.allSettled(calls);
      const stored = await database.query('SELECT * FROM mixed ORDER BY call');
      const storedByCall = new Map(stored.map((one) => [one.call, one]));
      expect(storedByCall.size).toBe(stored.length);

      const names = new Set<string>();
      for (const [call, { name, amount }] of rows.entries()) {
        const expected = expectedOutcome(name, amount, names);
        const outcome = settled[call];
        if (expected !== 'stored') {
          expect(outcome?.status === 'rejected' && codeOf(outcome.reason)).toBe(expected);
          expect(storedByCall.has(call)).toBe(false);
          continue;
        }
        names.add(name);
        if (outcome?.status !== 'fulfilled') throw outcome?.reason;
        expect(outcome.value).toMatchObject({ call, name, lower_name: expect.any(String) });
        expect(storedByCall.get(call)).toMatchObject(outcome.value);
      }
    }),
    { numRuns: 25 },
  );
});

function expectedOutcome(name: string, amount: unknown, names: ReadonlySet<string>): string {
  if (amount === undefined || Array.isArray(amount)) return 'INVALID_ITEM';
  if (name.includes('\0')) return '22021';
  if (amount === 'many') return '22P02';
  if (amount === 3e9) return '22003';
  if (amount === -1) return '23514';
  return names.has(name) ? '23505' : 'stored';
}

test('a row that a trigger skips gets BAD_RESULT, and the other rows are not mixed up', async () => {
  await database.query('CREATE TABLE picky (id serial, n int4, doubled int4)');
  await database.query(`
    CREATE FUNCTION skip_odd() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.n % 2 = 1 THEN RETURN NULL; END IF;
        NEW.doubled := 2 * NEW.n; NEW.n := 0;
        RETURN NEW;
      END $$`);
  await database.query(
    'CREATE TRIGGER skip_odd BEFORE INSERT ON picky FOR EACH ROW EXECUTE FUNCTION skip_odd()',
  );
  const picky = insertBatcher(database.pool, {
    table: 'picky',
    columns: { n: 'int4' },
    returning: ['doubled'],
  });
  expect(await outcomes([3, 8, 5, 2, 4].map((n) => picky.submit({ n })))).toEqual([
    'BAD_RESULT',
    { doubled: 16 },
    'BAD_RESULT',
    { doubled: 4 },
    { doubled: 8 },
  ]);
});

test('rows that go to different partitions come back to their callers', async () => {
  await database.query('CREATE TABLE events (id serial, kind int4, payload text) PARTITION BY LIST (kind)');
  for (const kind of [0, 1, 2]) {
    await database.query(`CREATE TABLE events_${kind} PARTITION OF events FOR VALUES IN (${kind})`);
  }
  const events = insertBatcher(database.pool, {
    table: 'events',
    columns: { kind: 'int4', payload: 'text' },
    returning: ['id', 'payload'],
  });
  const calls = Array.from({ length: 30 }, (_, i) => events.submit({ kind: i % 4, payload: `event ${i}` }));
  const rows = await outcomes(calls);
  // No partition for kind 3: SQLSTATE 23514.
  expect(rows.map((row, i) => (i % 4 === 3 ? row : (row as { payload: string }).payload))).toEqual(
    rows.map((_, i) => (i % 4 === 3 ? '23514' : `event ${i}`)),
  );
});

test('generated keys ascend in the order of submission', async () => {
  await database.query('CREATE TABLE ordered (id int8 GENERATED ALWAYS AS IDENTITY, name text)');
  const ordered = insertBatcher(database.pool, {
    table: 'ordered',
    columns: { name: 'text' },
    returning: ['id'],
  });
  const rows = await ordered.submitMany(Array.from({ length: 200 }, (_, i) => ({ name: `${999 - i}` })));
  expect(rows).toEqual(rows.map((_, i) => ({ id: String(i + 1) })));
});

test('a constraint that is checked at the commit fails its row alone', async () => {
  await database.query('CREATE TABLE parents (id int4 PRIMARY KEY)');
  await database.query('INSERT INTO parents VALUES (1), (2)');
  await database.query(
    'CREATE TABLE children (parent int4 REFERENCES parents DEFERRABLE INITIALLY DEFERRED, name text)',
  );
  const children = insertBatcher(database.pool, {
    table: 'children',
    columns: { parent: 'int4', name: 'text' },
    returning: ['name'],
  });
  const calls = [1, 3, 2].map((parent) => children.submit({ parent, name: `of ${parent}` }));
  expect(await outcomes(calls)).toEqual([{ name: 'of 1' }, '23503', { name: 'of 2' }]);
  expect(await database.query('SELECT parent FROM children ORDER BY parent')).toEqual([
    { parent: 1 },
    { parent: 2 },
  ]);
});

test('an error that a trigger raises, with any SQLSTATE, fails its row alone', async () => {
  await database.query('CREATE TABLE guarded (n int4)');
  await database.query(`
    CREATE FUNCTION no_thirteen() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.n = 13 THEN RAISE EXCEPTION 'thirteen' USING ERRCODE = 'ZZ013'; END IF;
        RETURN NEW;
      END $$`);
  await database.query(
    'CREATE TRIGGER no_thirteen BEFORE INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION no_thirteen()',
  );
  const guarded = insertBatcher(database.pool, {
    table: 'guarded',
    columns: { n: 'int4' },
    returning: ['n'],
  });
  const calls = [12, 13, 14].map((n) => guarded.submit({ n }));
  expect(await outcomes(calls)).toEqual([{ n: 12 }, 'ZZ013', { n: 14 }]);
});

test('a row that row-level security does not permit fails alone', async () => {
  await database.query('CREATE TABLE tenants (tenant text)');
  await database.query('ALTER TABLE tenants ENABLE ROW LEVEL SECURITY');
  await database.query(`CREATE POLICY own ON tenants USING (tenant = 'acme')`);
  await database.query('CREATE ROLE limited');
  await database.query('GRANT ALL ON tenants TO limited');
  const pool = new pg.Pool({ connectionString: database.url, options: '-c role=limited' });
  try {
    const tenants = insertBatcher(pool, {
      table: 'tenants',
      columns: { tenant: 'text' },
      returning: ['tenant'],
    });
    const calls = ['acme', 'other', 'acme'].map((tenant) => tenants.submit({ tenant }));
    expect(await outcomes(calls)).toEqual([{ tenant: 'acme' }, '42501', { tenant: 'acme' }]);
  } finally {
    await pool.end();
  }
});

test('an error of the statement fails the whole batch, which is not sent again', async () => {
  const { calls, stop } = countCalls();
  const missing = insertBatcher(database.pool, { table: 'no_such_table', columns: { n: 'int4' } });
  const failed = await outcomes(Array.from({ length: 20 }, (_, n) => missing.submit({ n })));
  stop();
  expect(failed).toEqual(failed.map(() => '42P01'));
  expect(calls).toEqual([1]);
});

test('the connection is kept after the error of a row', async () => {
  await database.query('CREATE TABLE positive (n int4 CHECK (n > 0))');
  const pool = new pg.Pool({ connectionString: database.url });
  let connections = 0;
  pool.on('connect', () => {
    connections += 1;
  });
  try {
    const positive = insertBatcher(pool, { table: 'positive', columns: { n: 'int4' } });
    const failed = await outcomes([1, -2, 3, -4, 5, 6, 7, -8].map((n) => positive.submit({ n })));
    expect(failed.filter((outcome) => outcome === '23514')).toHaveLength(3);
    expect(connections).toBe(1);
  } finally {
    await pool.end();
  }
});

test('rows whose connection is lost are not sent again, and the next batch gets a new connection', async () => {
  await database.query('CREATE TABLE locked (n int4)');
  const locked = insertBatcher(database.pool, { table: 'locked', columns: { n: 'int4' }, returning: ['n'] });
  const holder = await database.pool.connect();
  const { calls, stop } = countCalls();
  try {
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE locked');
    const rows = outcomes([1, 2, 3].map((n) => locked.submit({ n })));
    await database.until(`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND query LIKE 'INSERT INTO "locked"%'`);
    expect(await rows).toEqual(['57P01', '57P01', '57P01']);
    expect(calls).toEqual([1]);
  } finally {
    stop();
    await holder.query('ROLLBACK');
    holder.release();
  }
  expect(await locked.submit({ n: 4 })).toEqual({ n: 4 });
  expect(await database.query('SELECT n FROM locked')).toEqual([{ n: 4 }]);
});

test('a server that cannot be reached is UNAVAILABLE, with the cause', async () => {
  // A privileged port, which no other test listens on.
  const pool = new pg.Pool({ host: '127.0.0.1', port: 1, user: 'postgres' });
  const batcher = insertBatcher(pool, { table: 't', columns: { n: 'int4' } });
  const errors = await Promise.allSettled([batcher.submit({ n: 1 }), batcher.submit({ n: 2 })]);
  for (const error of errors) {
    expect(error).toMatchObject({
      reason: { code: 'UNAVAILABLE', cause: { code: 'ECONNREFUSED' }, message: /ECONNREFUSED/ },
    });
  }
  await pool.end();
});

test('a caller that gives up is told at once; the statement runs on, for its neighbours and its own row', async () => {
  await database.query('CREATE TABLE slow (n int4)');
  const slow = insertBatcher(database.pool, { table: 'slow', columns: { n: 'int4' }, returning: ['n'] });
  const holder = await database.pool.connect();
  const abort = new AbortController();
  await holder.query('BEGIN');
  await holder.query('LOCK TABLE slow');
  const cancelled = slow.submit({ n: 1 }, { signal: abort.signal });
  const neighbour = slow.submit({ n: 2 });
  await database.until(
    `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'INSERT INTO "slow"%'`,
  );
  abort.abort();
  await expect(cancelled).rejects.toMatchObject({ code: 'CANCELLED' });
  await holder.query('COMMIT');
  holder.release();
  expect(await neighbour).toEqual({ n: 2 });
  expect(await database.query('SELECT n FROM slow ORDER BY n')).toEqual([{ n: 1 }, { n: 2 }]);
});

test('close() waits until everything that was submitted is inserted', async () => {
  await database.query('CREATE TABLE drained (n int4)');
  const drained = insertBatcher(database.pool, {
    table: 'drained',
    columns: { n: 'int4' },
    maxBatchSize: 10,
  });
  const rows = Promise.all(Array.from({ length: 95 }, (_, n) => drained.submit({ n })));
  await drained.close();
  expect(await database.query('SELECT count(*)::int4 AS count FROM drained')).toEqual([{ count: 95 }]);
  await rows;
});

test('a batch may have more values than a statement may have parameters (65,535)', async () => {
  await database.query('CREATE TABLE large (a int4, b int4, c text)');
  const large = insertBatcher(database.pool, {
    table: 'large',
    columns: { a: 'int4', b: 'int4', c: 'text' },
    maxBatchSize: 30_000,
  });
  const { calls, stop } = countCalls();
  await large.submitMany(Array.from({ length: 30_000 }, (_, a) => ({ a, b: -a, c: `${a}` })));
  stop();
  expect(calls).toEqual([1]);
  expect(
    await database.query(
      'SELECT count(DISTINCT (a, b, c))::int4 AS count FROM large WHERE b = -a AND c = a::text',
    ),
  ).toEqual([{ count: 30_000 }]);
});

test('a Client does as well as a Pool', async () => {
  await database.query('CREATE TABLE by_client (n int4 CHECK (n > 0))');
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    const batcher = insertBatcher(client, { table: 'by_client', columns: { n: 'int4' }, returning: ['n'] });
    expect(await outcomes([1, 0, 2].map((n) => batcher.submit({ n })))).toEqual([
      { n: 1 },
      '23514',
      { n: 2 },
    ]);
  } finally {
    await client.end();
  }
});

test('the program of the README prints what it says', async () => {
  const { expected, run } = readmeProgram(new URL('../../README.md', import.meta.url));
  const modules = { '@batchwise/postgres': postgres, pg };
  expect(expected).not.toBe('');
  await database.query('DROP TABLE IF EXISTS people');
  expect(await run(modules, { 'process.env.DATABASE_URL': `'${database.url}'` })).toBe(expected);
});
