/** Look-ups in a real PostgreSQL. */
import { expect, test } from 'vitest';
import { type LookupKey, lookupBatcher } from '../../src/index.js';
import { countCalls, outcomes, useDatabase } from '../support/database.js';

const database = useDatabase();

const uuid = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11';

test.each<[type: string, stored: string, keys: LookupKey[], missing: LookupKey]>([
  ['int4', '7', [7, '7', '007', 7n], 8],
  ['int8', '9007199254740993', [9_007_199_254_740_993n, '9007199254740993'], 9_007_199_254_740_992n],
  ['numeric', '1.50', ['1.5', 1.5, '01.500'], '1.51'],
  ['uuid', uuid, [uuid, uuid.toUpperCase(), `{${uuid}}`], uuid.replace('a', 'b')],
  ['text', `O'Reilly "\\`, [`O'Reilly "\\`], `o'reilly "\\`],
  ['bool', 'true', [true, 'yes'], false],
  [
    'timestamptz',
    '2024-01-02 03:04:05+00',
    [new Date('2024-01-02T03:04:05Z'), '2024-01-02 04:04:05+01'],
    new Date(0),
  ],
  ['bytea', '\\x00ff', [Buffer.from([0, 255]), new Uint8Array([0, 255]), '\\x00FF'], Buffer.from([0])],
])('a key of type %s finds its row, however it is written', async (type, stored, keys, missing) => {
  await database.query(`CREATE TABLE by_${type} (key ${type} PRIMARY KEY, found text)`);
  await database.query(`INSERT INTO by_${type} VALUES ($1, 'found')`, [stored]);
  const { calls, stop } = countCalls();
  const lookup = lookupBatcher<{ found: string }>(database.pool, {
    table: `by_${type}`,
    key: 'key',
    type,
    returning: ['found'],
  });
  const rows = await Promise.all([missing, ...keys, missing].map((key) => lookup.submit(key)));
  stop();
  expect(rows).toEqual([undefined, ...keys.map(() => ({ found: 'found' })), undefined]);
  expect(calls).toEqual([1]);
});

test('many look-ups, with repeated keys, are answered in their order', async () => {
  await database.query('CREATE TABLE words (id int4 PRIMARY KEY, word text)');
  await database.query(`INSERT INTO words SELECT n, 'word ' || n FROM generate_series(1, 1000) AS n`);
  const words = lookupBatcher<{ id: number; word: string }>(database.pool, {
    table: 'words',
    key: 'id',
    type: 'int4',
    returning: ['word', 'id'],
  });
  const ids = Array.from({ length: 2000 }, (_, i) => (i * 7919) % 1100);
  expect(await words.submitMany(ids)).toEqual(
    ids.map((id) => (id >= 1 && id <= 1000 ? { id, word: `word ${id}` } : undefined)),
  );
});

test('a bad key fails alone', async () => {
  await database.query('CREATE TABLE numbers (id int4 PRIMARY KEY, name text)');
  await database.query(`INSERT INTO numbers VALUES (1, 'one'), (2, 'two')`);
  const numbers = lookupBatcher(database.pool, {
    table: 'numbers',
    key: 'id',
    type: 'int4',
    returning: ['name'],
  });
  const keys = [1, 'two', 2, 1e10, null, undefined, [1]] as LookupKey[];
  expect(await outcomes(keys.map((key) => numbers.submit(key)))).toEqual([
    { name: 'one' },
    '22P02',
    { name: 'two' },
    '22003',
    'INVALID_ITEM',
    'INVALID_ITEM',
    'INVALID_ITEM',
  ]);
});

test('a key that matches several rows is BAD_RESULT for its caller alone', async () => {
  await database.query('CREATE TABLE names (name text, n int4)');
  await database.query(`INSERT INTO names VALUES ('twice', 1), ('twice', 2), ('once', 3)`);
  const names = lookupBatcher(database.pool, { table: 'names', key: 'name', type: 'text', returning: ['n'] });
  expect(await outcomes(['twice', 'once'].map((name) => names.submit(name)))).toEqual([
    'BAD_RESULT',
    { n: 3 },
  ]);
});
