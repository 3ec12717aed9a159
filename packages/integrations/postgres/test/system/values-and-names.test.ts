/** Values of all kinds and names of all kinds, in a real PostgreSQL. */
import fc from 'fast-check';
import pg from 'pg';
import { expect, test } from 'vitest';
import { insertBatcher, lookupBatcher } from '../../src/index.js';
import { codeOf, outcomes, useDatabase } from '../support/database.js';

const database = useDatabase();

const text = fc.string({ unit: 'binary' }).map((value) => value.replaceAll('\0', ''));
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
// Offsets from UTC were not whole minutes everywhere before 1972, and the driver writes minutes.
const date = fc.date({
  min: new Date('1972-01-01T00:00:00Z'),
  max: new Date('9999-12-30T00:00:00Z'),
  noInvalidDate: true,
});
// Not in the hour that comes twice when clocks are set back.
const localDate = fc.nat(86_399_999).map((ms) => new Date(new Date(2024, 0, 15).getTime() + ms));
// As JSON has it: without -0.
const json = fc
  .jsonValue({ maxDepth: 2 })
  .filter((value) => !JSON.stringify(value).includes('\\u0000'))
  .map((value) => JSON.parse(JSON.stringify(value)));
const numeric = fc
  .tuple(fc.bigInt({ min: 1n, max: 10n ** 40n }), fc.nat(999_999))
  .map(([whole, part]) => `-${whole}.${String(part).padStart(6, '0')}`);

test('values come back as they were submitted', async () => {
  const types = {
    text: ['text', text],
    float8: [
      'double precision',
      fc.double({ noDefaultInfinity: false }).filter((value) => !Object.is(value, -0)),
    ],
    int8: ['int8', int64],
    numeric: ['numeric', numeric],
    boolean: ['bool', fc.boolean()],
    bytea: ['bytea', fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes))],
    instant: ['timestamp with time zone', date],
    local: ['timestamp', localDate],
    jsonb: ['jsonb', json.filter((value) => value !== null)],
    json: ['json', json.filter((value) => value !== null)],
    uuid: ['uuid', fc.uuid()],
    texts: ['text[]', fc.array(fc.option(text), { maxLength: 4 })],
    numbers: ['int4[]', fc.array(fc.option(fc.integer()), { maxLength: 4 })],
    matrix: [
      'int4[]',
      fc.constantFrom(
        [
          [1, 2],
          [3, 4],
        ],
        [[5], [6]],
        [],
      ),
    ],
    blobs: [
      'bytea[]',
      fc.array(
        fc.uint8Array({ maxLength: 5 }).map((bytes) => Buffer.from(bytes)),
        { maxLength: 3 },
      ),
    ],
    documents: [
      'jsonb[]',
      fc.array(
        json.filter((value) => value !== null),
        { maxLength: 3 },
      ),
    ],
    instants: ['timestamptz[]', fc.array(date, { maxLength: 3 })],
  } as const;
  const columns = Object.fromEntries(Object.entries(types).map(([name, [type]]) => [name, type]));
  const declared = Object.entries(columns).map(([name, type]) => `"${name}" ${type}`);
  await database.query(`CREATE TABLE every_type (${declared.join(', ')})`);
  const batcher = insertBatcher<Record<string, unknown>, Record<string, unknown>>(database.pool, {
    table: 'every_type',
    columns,
    returning: Object.keys(columns),
  });
  const row = fc.record(
    Object.fromEntries(
      Object.entries(types).map(([name, [, value]]) => [
        name,
        fc.option(value as fc.Arbitrary<unknown>, { freq: 10 }),
      ]),
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 5 }), async (rows) => {
      expect(await Promise.all(rows.map((one) => batcher.submit(one)))).toEqual(rows);
    }),
    { numRuns: 60 },
  );
});

test('a bigint keeps all its digits, and a string for JSON is a JSON string', async () => {
  await database.query('CREATE TABLE exact (n int8, doc jsonb)');
  const exact = insertBatcher(database.pool, {
    table: 'exact',
    columns: { n: 'int8', doc: 'jsonb' },
    returning: ['n', 'doc'],
  });
  expect(await exact.submit({ n: 9_007_199_254_740_993n, doc: '[1]' })).toEqual({
    n: '9007199254740993',
    doc: '[1]',
  });
  expect(await exact.submit({ n: null, doc: [1, [2]] })).toEqual({ n: null, doc: [1, [2]] });
});

test('a value that is too long for its column is rejected, not cut off', async () => {
  await database.query('CREATE TABLE short (name varchar(3), code char(2), flags bit(2))');
  const short = insertBatcher(database.pool, {
    table: 'short',
    columns: { name: 'varchar', code: 'bpchar', flags: 'varbit' },
    returning: ['name', 'code', 'flags'],
  });
  const calls = [
    short.submit({ name: 'abc', code: 'x', flags: '10' }),
    short.submit({ name: 'abcd', code: 'x', flags: '10' }),
    short.submit({ name: 'abc', code: 'xyz', flags: '10' }),
    short.submit({ name: 'abc', code: 'xy', flags: '101' }),
  ];
  expect(await outcomes(calls)).toEqual([
    { name: 'abc', code: 'x ', flags: '10' },
    '22001',
    '22001',
    '22026',
  ]);
});

test('an item that cannot be a row is INVALID_ITEM and is not sent', async () => {
  await database.query('CREATE TABLE strict (name text, tags text[], doc jsonb)');
  const strict = insertBatcher<Record<string, unknown>>(database.pool, {
    table: 'strict',
    columns: { name: 'text', tags: 'text[]', doc: 'jsonb' },
  });
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  const row = { name: 'a', tags: ['b'], doc: {} };
  const invalid = [
    { ...row, name: undefined },
    { ...row, name: ['a'] },
    { ...row, name: () => 'a' },
    { ...row, name: circular },
    { ...row, tags: '{a}' },
    { ...row, doc: circular },
    { ...row, doc: 1n },
    { ...row, doc: () => 1 },
    { ...row, nmae: 'a' },
    [],
    'a row',
    null,
  ];
  const calls = [...invalid, row].map((item) => strict.submit(item as Record<string, unknown>));
  expect(await outcomes(calls)).toEqual([...invalid.map(() => 'INVALID_ITEM'), undefined]);
  expect(await database.query('SELECT * FROM strict')).toEqual([row]);
});

/** At most 63 bytes, or PostgreSQL cuts it off. */
const name = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 15 })
  .map((value) => value.replaceAll('\0', '"'));

test('tables and columns may have any names', async () => {
  await fc.assert(
    fc.asyncProperty(
      name,
      name,
      fc.uniqueArray(name, { minLength: 2, maxLength: 2 }),
      async (schema, table, columns) => {
        const [first = '', second = ''] = columns;
        const quote = pg.escapeIdentifier;
        const place = `${quote(schema)}.${quote(table)}`;
        await database.query(`CREATE SCHEMA IF NOT EXISTS ${quote(schema)}`);
        await database.query(`CREATE TABLE ${place} (${quote(first)} int4, ${quote(second)} int4)`);
        const batcher = insertBatcher<Record<string, number>, Record<string, number>>(database.pool, {
          table: [schema, table],
          columns: { [first]: 'int4', [second]: 'int4' },
          returning: columns,
        });
        expect(await batcher.submit({ [first]: 1, [second]: 2 })).toEqual({ [first]: 1, [second]: 2 });
        await database.query(`DROP TABLE ${place}`);
      },
    ),
    { numRuns: 25 },
  );
});

test('a table is found in its schema', async () => {
  await database.query('CREATE SCHEMA app');
  await database.query('CREATE TABLE app.users (name text)');
  const users = insertBatcher(database.pool, { table: 'app.users', columns: { name: 'text' } });
  await users.submit({ name: 'Ada' });
  expect(await database.query('SELECT name FROM app.users')).toEqual([{ name: 'Ada' }]);
});

test('the name of a type cannot change the statement', async () => {
  await database.query('CREATE TABLE canary (name text)');
  await database.query(`INSERT INTO canary VALUES ('alive')`);
  const fragment = fc.constantFrom(
    ...[
      'text',
      'int4',
      '[]',
      ' ',
      '.',
      '"',
      '""',
      ')',
      '(',
      ',',
      ';',
      '--',
      '/*',
      '*/',
      "'",
      '$1',
      '::',
      '\\',
      '\n',
    ],
    'DELETE FROM canary',
    'WITH ORDINALITY AS u(c1, position)',
  );
  const text = fc.array(fragment, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''));
  const type = fc.oneof(
    text,
    text.map((part) => `"${part}"`),
    text.map((part) => `"${part.replaceAll('"', '""')}"`),
  );
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(type, async (hostile) => {
      let batcher: ReturnType<typeof lookupBatcher>;
      try {
        batcher = lookupBatcher<{ name: string }>(database.pool, {
          table: 'canary',
          key: 'name',
          type: hostile,
          returning: ['name'],
        });
      } catch (error) {
        expect(codeOf(error)).toBe('INVALID_OPTION');
        return;
      }
      accepted += 1;
      const [outcome] = await outcomes([batcher.submit('alive')]);
      // No such type, no such schema, syntax, an array as key, a key that is no number, or the row.
      expect([
        '42704',
        '3F000',
        '42601',
        '42P18',
        'INVALID_ITEM',
        '42883',
        '22P02',
        { name: 'alive' },
      ]).toContainEqual(outcome);
    }),
    { numRuns: 300 },
  );
  expect(accepted).toBeGreaterThan(0);
  expect(await database.query('SELECT name FROM canary')).toEqual([{ name: 'alive' }]);
});
