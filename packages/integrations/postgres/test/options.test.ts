/** Options and errors that need no server. */
import { BatchwiseError } from 'batchwise';
import { expect, test } from 'vitest';
import {
  type Database,
  insertBatcher,
  lookupBatcher,
  type PooledClient,
  updateBatcher,
  upsertBatcher,
} from '../src/index.js';

const database: Database = { query: async () => ({ rows: [] }) };
const columns = { id: 'int4', name: 'text' };

const invalid: [reason: string, create: () => unknown, message: RegExp][] = [
  ['no pool', () => insertBatcher({} as Database, { table: 't', columns }), /with query\(\)/],
  ['no table', () => insertBatcher(database, { table: '', columns }), /table: expected a name/],
  ['four parts', () => insertBatcher(database, { table: 'a.b.c.d', columns }), /'schema.table'/],
  ['NUL', () => insertBatcher(database, { table: 'a\0b', columns }), /table: expected a name/],
  ['no columns', () => insertBatcher(database, { table: 't', columns: {} }), /at least one column/],
  [
    'length',
    () => insertBatcher(database, { table: 't', columns: { a: 'varchar(3)' } }),
    /without its length/,
  ],
  ['char', () => insertBatcher(database, { table: 't', columns: { a: 'char' } }), /expected 'bpchar'/],
  ['bit[]', () => insertBatcher(database, { table: 't', columns: { a: 'BIT[]' } }), /expected 'varbit'/],
  ['SQL', () => insertBatcher(database, { table: 't', columns: { a: 'text); --' } }), /name of a type/],
  ['returning', () => insertBatcher(database, { table: 't', columns, returning: [] }), /list of columns/],
  ['twice', () => insertBatcher(database, { table: 't', columns, returning: ['a', 'a'] }), /each once/],
  ['no key', () => upsertBatcher(database, { table: 't', columns, key: [] }), /key: expected/],
  ['unknown key', () => upsertBatcher(database, { table: 't', columns, key: 'ID' as 'id' }), /id, name/],
  [
    'only key',
    () => updateBatcher(database, { table: 't', columns, key: ['id', 'name'] }),
    /besides the key/,
  ],
  [
    'no returning',
    () => lookupBatcher(database, { table: 't', key: 'id', type: 'int4' } as never),
    /returning: expected/,
  ],
  ['unknown', () => insertBatcher(database, { table: 't', columns, colums: 1 } as never), /unknown option/],
];

test.each(invalid)('%s: INVALID_OPTION', (_, create, message) => {
  expect(create).toThrow(message);
  expect(create).toThrow(BatchwiseError);
});

test.each([
  'text',
  'int4[]',
  'DOUBLE PRECISION',
  'timestamp with time zone',
  'character varying[]',
  'app.mood',
  '"My Schema"."My ""Type"""',
  '"char"',
])('%s is the name of a type', (type) => {
  insertBatcher(database, { table: 't', columns: { a: type } });
});

interface Release {
  readonly error: Error | undefined;
}

/** A pool whose statements all fail with the error. */
function failingPool(error: Error) {
  const queries: unknown[][] = [];
  const releases: Release[] = [];
  const listeners = new Set<() => void>();
  const client: PooledClient = {
    query: async (_, values) => {
      queries.push(values[0] as unknown[]);
      throw error;
    },
    on: (_, listener) => listeners.add(listener),
    removeListener: (_, listener) => listeners.delete(listener),
    release: (releaseError) => releases.push({ error: releaseError }),
  };
  const pool = { ...client, totalCount: 1, connect: async () => client };
  return { pool, queries, releases, listeners };
}

test.each(['EPIPE', 'ECONNRESET', '08006', '57P01', '57014', '53300', 'XX001'])(
  'after %s nobody knows what was executed: rows are not sent again',
  async (code) => {
    const severity = /^\d|^XX/.test(code) ? { severity: 'FATAL' } : {};
    const error = Object.assign(new Error('lost'), { code, ...severity });
    const { pool, queries, releases, listeners } = failingPool(error);
    const batcher = insertBatcher(pool, { table: 't', columns: { n: 'int4' } });
    const calls = [1, 2, 3].map((n) => batcher.submit({ n }));
    for (const call of calls) await expect(call).rejects.toBe(error);
    expect(queries).toEqual([[1, 2, 3]]);
    expect(releases).toEqual([{ error }]);
    expect(listeners.size).toBe(0);
  },
);

test.each(['23505', '22P02', '40P01', 'P0001', '42501', '21000', 'XX000', 'ABCDE'])(
  'after %s the batch is bisected on connections that are kept',
  async (code) => {
    const error = Object.assign(new Error('bad row'), { code, severity: 'ERROR' });
    const { pool, queries, releases, listeners } = failingPool(error);
    const batcher = insertBatcher(pool, { table: 't', columns: { n: 'int4' } });
    const calls = [1, 2, 3].map((n) => batcher.submit({ n }));
    for (const call of calls) await expect(call).rejects.toBe(error);
    expect(queries).toEqual([[1, 2, 3], [1], [2, 3], [2], [3]]);
    expect(releases).toEqual(queries.map(() => ({ error: undefined })));
    expect(listeners.size).toBe(0);
  },
);

test('rows that PostgreSQL cannot tell apart are BAD_RESULT, not mixed up', async () => {
  const rows = [
    { batchwise_position: 2, id: 1 },
    { batchwise_position: 2, id: 2 },
  ];
  const batcher = insertBatcher(
    { query: async () => ({ rows }) },
    { table: 't', columns: { n: 'int4' }, returning: ['id'] },
  );
  const calls = [1, 2].map((n) => batcher.submit({ n }));
  for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'BAD_RESULT' });
});
