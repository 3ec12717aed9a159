/** Upserts and updates in a real PostgreSQL. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { updateBatcher, upsertBatcher } from '../../src/index.js';
import { countCalls, outcomes, useDatabase } from '../support/database.js';

const database = useDatabase();

test('rows are inserted or updated in one statement, and each caller gets its own row', async () => {
  await database.query('CREATE TABLE stock (id serial, sku text PRIMARY KEY, amount int4)');
  await database.query(`INSERT INTO stock (sku, amount) VALUES ('b', 1), ('d', 2)`);
  const stock = upsertBatcher(database.pool, {
    table: 'stock',
    columns: { sku: 'text', amount: 'int4' },
    key: 'sku',
    returning: ['sku', 'amount'],
  });
  const { calls, stop } = countCalls();
  const rows = ['d', 'a', 'c', 'b'].map((sku, amount) => ({ sku, amount: 10 + amount }));
  expect(await stock.submitMany(rows)).toEqual(rows);
  stop();
  expect(calls).toEqual([1]);
  expect(await database.query('SELECT id, sku FROM stock WHERE id <= 2 ORDER BY id')).toEqual([
    { id: 1, sku: 'b' },
    { id: 2, sku: 'd' },
  ]);
});

test('any sequence of upserts leaves what it would leave one by one, and answers every caller', async () => {
  await database.query(
    'CREATE TABLE pairs (a int4, b text, value int4 CHECK (value >= 0), PRIMARY KEY (a, b))',
  );
  const row = fc.record({
    a: fc.constantFrom(1, '1', '01', 2, 2n),
    b: fc.constantFrom('x', 'X', ''),
    value: fc.nat(1000),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 30 }), async (rows) => {
      await database.query('TRUNCATE pairs');
      const pairs = upsertBatcher<{ a: unknown; b: string; value: number }, { value: number }>(
        database.pool,
        {
          table: 'pairs',
          columns: { a: 'int4', b: 'text', value: 'int4' },
          key: ['a', 'b'],
          returning: ['a', 'b', 'value'] as never[],
          maxBatchSize: 7,
        },
      );
      const answers = await Promise.all(rows.map((one) => pairs.submit(one)));

      const keyOf = ({ a, b }: { a: unknown; b: string }) => `${Number(a)} ${b}`;
      const expected = new Map(
        rows.map((one) => [keyOf(one), { a: Number(one.a), b: one.b, value: one.value }]),
      );
      const stored = await database.query('SELECT * FROM pairs');
      expect(new Set(stored)).toEqual(new Set(expected.values()));
      // A caller gets what was written for its key in its batch: its own value, or that of a later caller.
      for (const [i, answer] of answers.entries()) {
        const later = rows.slice(i).filter((one) => keyOf(one) === keyOf(rows[i] as (typeof rows)[number]));
        expect(later.map(({ value }) => value)).toContain(answer.value);
      }
    }),
    { numRuns: 25 },
  );
});

test('a bad row fails alone; the other rows with its key are written', async () => {
  await database.query('CREATE TABLE checked (id int4 PRIMARY KEY, value int4 CHECK (value > 0))');
  const checked = upsertBatcher(database.pool, {
    table: 'checked',
    columns: { id: 'int4', value: 'int4' },
    key: 'id',
    returning: ['value'],
  });
  const rows = [
    { id: 1, value: 5 },
    { id: 2, value: 6 },
    { id: 1, value: -1 },
    { id: 3, value: 7 },
  ];
  expect(await outcomes(rows.map((row) => checked.submit(row)))).toEqual([
    { value: 5 },
    { value: 6 },
    '23514',
    { value: 7 },
  ]);
});

test('rows whose keys are equal only in the column are written one after the other', async () => {
  await database.query('CREATE TABLE rounded (id int4 PRIMARY KEY, value int4)');
  const rounded = upsertBatcher(database.pool, {
    table: 'rounded',
    columns: { id: 'numeric', value: 'int4' },
    key: 'id',
    returning: ['id', 'value'],
  });
  const ids = [1, 2, 1.2, 1.9, 0.8, 3];
  expect(await Promise.all(ids.map((id, value) => rounded.submit({ id, value })))).toEqual(
    ids.map((id, value) => ({ id: Math.round(id), value })),
  );
  expect(await database.query('SELECT id, value FROM rounded ORDER BY id')).toEqual([
    { id: 1, value: 4 },
    { id: 2, value: 3 },
    { id: 3, value: 5 },
  ]);
});

test('NULL in the key is INVALID_ITEM', async () => {
  await database.query('CREATE TABLE keyed (id int4 UNIQUE)');
  const keyed = upsertBatcher(database.pool, { table: 'keyed', columns: { id: 'int4' }, key: 'id' });
  expect(await outcomes([1, null, 2].map((id) => keyed.submit({ id })))).toEqual([
    undefined,
    'INVALID_ITEM',
    undefined,
  ]);
});

test('rows that are nothing but their key are returned, too', async () => {
  await database.query('CREATE TABLE tags (name text PRIMARY KEY, id serial)');
  await database.query(`INSERT INTO tags VALUES ('red', 7)`);
  const tags = upsertBatcher(database.pool, {
    table: 'tags',
    columns: { name: 'text' },
    key: 'name',
    returning: ['id', 'name'],
  });
  const { calls, stop } = countCalls();
  expect(await tags.submitMany(['blue', 'red', 'blue'].map((name) => ({ name })))).toEqual([
    { id: 1, name: 'blue' },
    { id: 7, name: 'red' },
    { id: 1, name: 'blue' },
  ]);
  stop();
  expect(calls).toEqual([1]);
});

test('two batchers that write the same keys in opposite orders do not fail', async () => {
  await database.query('CREATE TABLE contended (id int4 PRIMARY KEY, writer text)');
  const ids = Array.from({ length: 100 }, (_, id) => id);
  const write = async (writer: string, order: readonly number[]) => {
    const batcher = upsertBatcher(database.pool, {
      table: 'contended',
      columns: { id: 'int4', writer: 'text' },
      key: 'id',
      returning: ['writer'],
    });
    for (let round = 0; round < 10; round += 1) {
      const rows = await batcher.submitMany(order.map((id) => ({ id, writer })));
      expect(rows).toEqual(order.map(() => ({ writer })));
    }
  };
  const { calls, stop } = countCalls();
  await Promise.all([write('up', ids), write('down', ids.toReversed())]);
  stop();
  // No deadlock, after which a batch would have been bisected.
  expect(new Set(calls)).toEqual(new Set([1]));
});

async function createAccounts(table: string): Promise<void> {
  await database.query(
    `CREATE TABLE ${table} (id int8 PRIMARY KEY, owner text, balance numeric CHECK (balance >= 0), note text)`,
  );
  await database.query(
    `INSERT INTO ${table} SELECT n, 'owner ' || n, 0, 'kept' FROM generate_series(1, 5) AS n`,
  );
}

test('each caller gets the row that it changed; undefined if there is none', async () => {
  await createAccounts('accounts');
  const accounts = updateBatcher(database.pool, {
    table: 'accounts',
    columns: { id: 'int8', balance: 'numeric' },
    key: 'id',
    returning: ['owner', 'balance'],
  });
  const { calls, stop } = countCalls();
  const rows = [3, 99, 1].map((id) => ({ id, balance: `${id}.50` }));
  expect(await accounts.submitMany(rows)).toEqual([
    { owner: 'owner 3', balance: '3.50' },
    undefined,
    { owner: 'owner 1', balance: '1.50' },
  ]);
  stop();
  expect(calls).toEqual([1]);
  expect(await database.query('SELECT id, balance, note FROM accounts ORDER BY id')).toEqual([
    { id: '1', balance: '1.50', note: 'kept' },
    { id: '2', balance: '0', note: 'kept' },
    { id: '3', balance: '3.50', note: 'kept' },
    { id: '4', balance: '0', note: 'kept' },
    { id: '5', balance: '0', note: 'kept' },
  ]);
});

test('of several changes to one key the last one wins, and all callers get its row', async () => {
  await createAccounts('repeated');
  const repeated = updateBatcher(database.pool, {
    table: 'repeated',
    columns: { id: 'int8', owner: 'text' },
    key: 'id',
    returning: ['owner'],
  });
  const rows = [
    { id: 1, owner: 'first' },
    { id: 2, owner: 'other' },
    { id: '01', owner: 'second' },
    { id: 1n, owner: 'last' },
  ];
  expect(await Promise.all(rows.map((row) => repeated.submit(row)))).toEqual([
    { owner: 'last' },
    { owner: 'other' },
    { owner: 'last' },
    { owner: 'last' },
  ]);
});

test('without `returning`, callers get the number of rows', async () => {
  await createAccounts('counted');
  await database.query(`INSERT INTO counted VALUES (6, 'owner 1', 0)`);
  const counted = updateBatcher(database.pool, {
    table: 'counted',
    columns: { owner: 'text', note: 'text' },
    key: 'owner',
  });
  const owners = ['owner 1', 'nobody', 'owner 2', 'owner 2'];
  expect(await counted.submitMany(owners.map((owner) => ({ owner, note: null })))).toEqual([2, 0, 1, 1]);
  expect(await database.query('SELECT id FROM counted WHERE note IS NULL ORDER BY id')).toEqual([
    { id: '1' },
    { id: '2' },
    { id: '6' },
  ]);
});

test('with `returning`, a key that is not unique is BAD_RESULT for its caller alone', async () => {
  await createAccounts('ambiguous');
  await database.query(`INSERT INTO ambiguous VALUES (6, 'owner 1', 0)`);
  const ambiguous = updateBatcher(database.pool, {
    table: 'ambiguous',
    columns: { owner: 'text', note: 'text' },
    key: 'owner',
    returning: ['id'],
  });
  const calls = ['owner 1', 'owner 2'].map((owner) => ambiguous.submit({ owner, note: 'x' }));
  expect(await outcomes(calls)).toEqual(['BAD_RESULT', { id: '2' }]);
});

test('a bad change fails alone, and the others are applied', async () => {
  await createAccounts('failing');
  const failing = updateBatcher(database.pool, {
    table: 'failing',
    columns: { id: 'int8', balance: 'numeric' },
    key: ['id'],
    returning: ['balance'],
  });
  const calls = [1, -2, 'much', 4, null].map((balance, i) => failing.submit({ id: i + 1, balance }));
  calls.push(failing.submit({ id: null, balance: 1 }));
  expect(await outcomes(calls)).toEqual([
    { balance: '1' },
    '23514',
    '22P02',
    { balance: '4' },
    { balance: null },
    'INVALID_ITEM',
  ]);
});

test('two batchers that change the same rows in opposite orders do not fail', async () => {
  await database.query('CREATE TABLE contended_updates (id int4 PRIMARY KEY, writer text)');
  await database.query('INSERT INTO contended_updates SELECT generate_series(1, 100)');
  const ids = Array.from({ length: 100 }, (_, i) => i + 1);
  const write = async (writer: string, order: readonly number[]) => {
    const batcher = updateBatcher(database.pool, {
      table: 'contended_updates',
      columns: { id: 'int4', writer: 'text' },
      key: 'id',
      returning: ['id', 'writer'],
    });
    for (let round = 0; round < 10; round += 1) {
      const rows = await batcher.submitMany(order.map((id) => ({ id, writer })));
      expect(rows).toEqual(order.map((id) => ({ id, writer })));
    }
  };
  await Promise.all([write('up', ids), write('down', ids.toReversed())]);
});
