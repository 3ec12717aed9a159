import {
  type BulkBatcherOptions,
  BulkItemError,
  type BulkOperation,
  bulkBatcher,
} from '@batchwise/elasticsearch';
import { greedy } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Answer } from '../../fetch/test/local-server.js';
import { bulkServer } from './bulk-server.js';

async function startBooks(
  options: Partial<BulkBatcherOptions> = {},
  instead?: Parameters<typeof bulkServer>[0],
) {
  const server = await bulkServer(instead);
  const books = bulkBatcher({ node: server.url, index: 'books', policy: greedy(), ...options });
  onTestFinished(() => books.destroy());
  return { server, books };
}

const write = (id: string, doc: object = { title: id }): BulkOperation => ({ index: { _id: id }, doc });

async function outcomesOf<R>(calls: readonly Promise<R>[]): Promise<unknown[]> {
  const settled = await Promise.allSettled(calls);
  return settled.map((one) => (one.status === 'fulfilled' ? one.value : one.reason));
}

describe('operations of one turn', () => {
  test('are one request in NDJSON, and each caller gets its own result', async () => {
    const { server, books } = await startBooks();
    const results = await books.submitMany([
      { index: { _id: '1' }, doc: { title: 'Emma', text: 'two\nlines \u2028 "quoted"' } },
      { create: { _id: '2', routing: 'a' }, doc: { title: 'Persuasion' } },
      { update: { _id: '1' }, doc: { stars: 5 } },
      { update: { _id: '3' }, doc: { stars: 4 }, doc_as_upsert: true },
      { delete: { _id: '2' } },
      { index: { _index: 'films' }, doc: { title: 'Clueless' } },
    ]);
    expect(results).toMatchObject([
      { _index: 'books', _id: '1', status: 201, result: 'created' },
      { _id: '2', result: 'created' },
      { _id: '1', result: 'updated' },
      { _id: '3', result: 'created' },
      { _id: '2', result: 'deleted' },
      { _index: 'films', _id: 'made up', result: 'created' },
    ]);
    expect(server.documents.get('books/1')).toEqual({
      title: 'Emma',
      text: 'two\nlines \u2028 "quoted"',
      stars: 5,
    });
    expect(server.documents.get('books/3')).toEqual({ stars: 4 });
    expect(server.documents.has('books/2')).toBe(false);
    expect(server.requests).toHaveLength(1);
    expect(server.requests).toMatchObject([
      { method: 'POST', url: '/books/_bulk', headers: { 'content-type': 'application/x-ndjson' } },
    ]);
    expect(server.requests[0]?.body.split('\n').slice(2, 9)).toEqual([
      '{"create":{"_id":"2","routing":"a"}}',
      '{"title":"Persuasion"}',
      '{"update":{"_id":"1"}}',
      '{"doc":{"stars":5}}',
      '{"update":{"_id":"3"}}',
      '{"doc":{"stars":4},"doc_as_upsert":true}',
      '{"delete":{"_id":"2"}}',
    ]);
  });

  test('have the documents of the moment in which they were submitted', async () => {
    const { server, books } = await startBooks();
    const doc = { title: 'before' };
    const call = books.submit({ index: { _id: '1' }, doc });
    doc.title = 'after';
    await call;
    expect(server.documents.get('books/1')).toEqual({ title: 'before' });
  });

  test('on one document are executed in the order of submit, within and across batches', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 60, max: 400 }),
        async (ids, maxBytes) => {
          const written: string[] = [];
          const fetch = async (_: string, { body }: RequestInit) => {
            const lines = String(body).split('\n');
            const docs = lines.filter((line) => line.startsWith('{"n"'));
            written.push(...docs);
            const items = docs.map(() => ({ index: { _index: 'books', _id: 'x', status: 200 } }));
            return Response.json({ items });
          };
          const books = bulkBatcher({ node: 'http://localhost', index: 'books', maxBytes, fetch });
          await Promise.all(ids.map((id, n) => books.submit({ index: { _id: id }, doc: { n } })));
          expect(written).toEqual(ids.map((_, n) => JSON.stringify({ n })));
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe('an operation that is rejected', () => {
  test('fails alone, with type, reason and status', async () => {
    const { books } = await startBooks();
    const [conflict, unreadable, good] = await outcomesOf([
      books
        .submit({ create: { _id: '1' }, doc: {} })
        .then(() => books.submit({ create: { _id: '1' }, doc: {} })),
      books.submit(write('2', { year: 'last' })),
      books.submit(write('3')),
    ]);
    expect(conflict).toBeInstanceOf(BulkItemError);
    expect(conflict).toMatchObject({
      name: 'BulkItemError',
      type: 'version_conflict_engine_exception',
      reason: 'document already exists',
      status: 409,
    });
    expect(unreadable).toMatchObject({
      status: 400,
      message:
        'elasticsearch: the operation was rejected with status 400, document_parsing_exception: failed to parse [year]',
    });
    expect(good).toMatchObject({ result: 'created' });
  });

  test('for want of capacity can be retried', async () => {
    const { books } = await startBooks();
    const outcomes = await outcomesOf([
      books.submit(write('1', { queue: 'full' })),
      books.submit(write('2', { shard: 'gone' })),
      books.submit(write('3')),
    ]);
    expect(outcomes).toMatchObject([
      {
        code: 'OVERLOADED',
        retryable: true,
        cause: { type: 'es_rejected_execution_exception', status: 429 },
      },
      { code: 'UNAVAILABLE', retryable: true, cause: { type: 'unavailable_shards_exception', status: 503 } },
      { result: 'created' },
    ]);
  });

  test('is not a delete of what does not exist', async () => {
    const { books } = await startBooks();
    expect(await books.submit({ delete: { _id: 'none' } })).toMatchObject({
      status: 404,
      result: 'not_found',
    });
    await expect(books.submit({ update: { _id: 'none' }, doc: {} })).rejects.toMatchObject({
      type: 'document_missing_exception',
    });
  });

  test.each<[string, BulkOperation, string]>([
    ['an _id that is too long', write('x'.repeat(513)), 'id is too long'],
    ['an unknown parameter', { index: { _id: 'u', unknown: 1 }, doc: {} }, 'unknown parameter'],
  ])('with the whole request, for %s, fails alone', async (_, bad, reason) => {
    const { server, books } = await startBooks();
    const operations = Array.from({ length: 16 }, (_, i) => (i === 5 ? bad : write(`${i}`)));
    const outcomes = await outcomesOf(operations.map((operation) => books.submit(operation)));
    expect(outcomes[5]).toMatchObject({
      code: 'INVALID_ITEM',
      message: expect.stringContaining(reason),
      cause: { status: 400, url: `${server.url}/books/_bulk` },
    });
    const others = outcomes.filter((_, i) => i !== 5);
    expect(others).toMatchObject(new Array(15).fill({ result: 'created' }));
    // Each once, in the order of submit.
    const order = Array.from({ length: 16 }, (_, i) => `index ${i}`).filter((_, i) => i !== 5);
    expect(server.executed).toEqual(order);
  });
});

describe('an operation that cannot be sent', () => {
  const circular: Record<string, unknown> = {};
  circular.self = circular;

  test.each<[unknown, string]>([
    [undefined, 'expected an operation, got undefined'],
    [[], 'expected an operation, got an array'],
    [{}, 'expected an operation with one of index, create, update and delete, got none'],
    [{ upsert: { _id: '1' } }, 'one of index, create, update and delete, got upsert'],
    [{ index: {}, delete: { _id: '1' } }, 'one of index, create, update and delete, got index, delete'],
    [{ index: '1', doc: {} }, 'index: expected an object such as { _id }, got string'],
    [{ index: { _id: '' }, doc: {} }, 'index: expected an _id, got an empty one'],
    [
      { index: { _index: '' }, doc: {} },
      'index: expected an _index, there or as the option index, got string',
    ],
    [{ index: { _id: '1' } }, 'index: expected an object as doc, got undefined'],
    [{ create: { _id: '1' }, doc: [] }, 'create: expected an object as doc, got an array'],
    [
      { create: { _id: '1' }, title: 'x' },
      'create: expected the fields of the document in doc, got title beside it',
    ],
    [{ update: {}, doc: {} }, 'update: expected an _id, got undefined'],
    [{ update: { _id: '1' } }, 'update: expected a doc or a script, got neither'],
    [{ delete: { _id: null } }, 'delete: expected an _id, got null'],
    [{ index: {}, doc: { big: 1n } }, 'BigInt'],
    [{ index: {}, doc: circular }, 'circular'],
  ])('is rejected alone (%#)', async (operation, message) => {
    const { server, books } = await startBooks();
    const [wrong, right] = await outcomesOf([
      books.submit(operation as BulkOperation),
      books.submit(write('1')),
    ]);
    expect(wrong).toMatchObject({ code: 'INVALID_ITEM', message: expect.stringContaining(message) });
    expect(right).toMatchObject({ result: 'created' });
    expect(server.executed).toEqual(['index 1']);
  });

  test('is one without an index where the batcher has none', async () => {
    const { server, books } = await startBooks({ index: undefined });
    const [wrong, right] = await outcomesOf([
      books.submit(write('1')),
      books.submit({ index: { _index: 'films', _id: '1' }, doc: {} }),
    ]);
    expect(wrong).toMatchObject({ code: 'INVALID_ITEM' });
    expect(right).toMatchObject({ _index: 'films' });
    expect(server.requests.map(({ url }) => url)).toEqual(['/_bulk']);
  });

  test('is one that is too large by itself', async () => {
    const { books } = await startBooks({ maxBytes: 100 });
    const [wrong, right] = await outcomesOf([
      books.submit(write('1', { text: 'x'.repeat(100) })),
      books.submit(write('2')),
    ]);
    expect(wrong).toMatchObject({ code: 'INVALID_ITEM' });
    expect(right).toMatchObject({ result: 'created' });
  });
});

describe('size', () => {
  test('a request has at most maxBytes, in UTF-8', async () => {
    const { server, books } = await startBooks({ maxBytes: 1000 });
    const operations = Array.from({ length: 40 }, (_, i) => write(`${i}`, { text: 'é'.repeat(i) }));
    await books.submitMany(operations);
    const sizes = server.requests.map(({ body }) => Buffer.byteLength(body));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1000);
    expect(Math.max(...sizes)).toBeGreaterThan(900);
    expect(server.executed).toEqual(operations.map((_, i) => `index ${i}`));
  });

  test('a request that is too large for the service is divided', async () => {
    const { server, books } = await startBooks({}, ({ body }) =>
      body.length > 500 ? { status: 413, body: '<html>' } : undefined,
    );
    const operations = Array.from({ length: 40 }, (_, i) => write(`${i}`));
    expect(await books.submitMany(operations)).toHaveLength(40);
    expect(server.executed).toEqual(operations.map((_, i) => `index ${i}`));
  });
});

describe('a request that fails', () => {
  test.each<[string, Answer, object]>([
    ['429', { status: 429, headers: { 'retry-after': '5' } }, { code: 'OVERLOADED', retryAfterMs: 5000 }],
    [
      '503',
      { status: 503, body: 'secret' },
      { code: 'UNAVAILABLE', message: 'elasticsearch: the service answered with status 503' },
    ],
    [
      '401',
      { status: 401, body: 'no' },
      { code: 'HANDLER_FAILED', message: expect.stringContaining('401: no'), cause: { status: 401 } },
    ],
    ['400 of another server', { status: 400, body: '<html>https only' }, { code: 'HANDLER_FAILED' }],
    [
      'a page',
      { body: '<html>' },
      { code: 'BAD_RESULT', message: expect.stringContaining('not JSON: <html>') },
    ],
    [
      'no items',
      { body: {} },
      {
        code: 'BAD_RESULT',
        message: expect.stringContaining('expected 2 items in the answer to a bulk request, got none'),
      },
    ],
    [
      'too few items',
      { body: { items: [{ index: { status: 200 } }] } },
      {
        code: 'BAD_RESULT',
        message: expect.stringContaining('expected 2 items in the answer to a bulk request, got 1'),
      },
    ],
  ])('by %s rejects all its callers, and is not repeated', async (_, answer, expected) => {
    const { server, books } = await startBooks({}, () => answer);
    expect(await outcomesOf([books.submit(write('1')), books.submit(write('2'))])).toMatchObject([
      expected,
      expected,
    ]);
    expect(server.requests).toHaveLength(1);
  });

  test('in part, by an item that cannot be read, rejects its operation only', async () => {
    const { books } = await startBooks({}, () => ({
      body: {
        items: [
          { index: { status: 201, result: 'created' } },
          null,
          { index: {} },
          { index: { status: 400, error: 'old text' } },
        ],
      },
    }));
    const outcomes = await outcomesOf(['1', '2', '3', '4'].map((id) => books.submit(write(id))));
    expect(outcomes).toMatchObject([
      { result: 'created' },
      { code: 'BAD_RESULT' },
      { code: 'BAD_RESULT', message: expect.stringContaining('got {"index":{}}') },
      { type: 'unknown', reason: 'old text' },
    ]);
  });

  test('because no server is there, is UNAVAILABLE', async () => {
    const { server, books } = await startBooks();
    await server.stop();
    await expect(books.submit(write('1'))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      cause: expect.any(TypeError),
    });
  });

  test('is aborted when no caller waits for it any more', async () => {
    const controller = new AbortController();
    const { server, books } = await startBooks({}, () => {
      controller.abort();
      return new Promise(() => {});
    });
    const call = books.submit(write('1'), { signal: controller.signal });
    await expect(call).rejects.toMatchObject({ code: 'CANCELLED' });
    await server.requests[0]?.abandoned;
  });
});

describe('the service', () => {
  test.each<[string, BulkBatcherOptions['auth'], string]>([
    [
      'a user',
      { username: 'Zoë', password: 'pässword' },
      `Basic ${Buffer.from('Zoë:pässword').toString('base64')}`,
    ],
    ['an API key', { apiKey: 'abc=' }, 'ApiKey abc='],
    ['a token', { bearer: 'abc' }, 'Bearer abc'],
  ])('gets the authorization of %s', async (_, auth, authorization) => {
    const { server, books } = await startBooks({ auth, headers: { 'x-opaque-id': 'test' } });
    await books.submit(write('1'));
    expect(server.requests).toMatchObject([{ headers: { authorization, 'x-opaque-id': 'test' } }]);
  });

  test('may have user, password and a path in its URL', async () => {
    const { server } = await startBooks({}, () => ({ body: { items: [{ index: { status: 200 } }] } }));
    const node = `${server.url.replace('http://', 'http://elastic:p%40ss@')}/search/`;
    const books = bulkBatcher({ node, index: 'böoks' });
    await books.submit(write('1'));
    expect(server.requests).toMatchObject([
      { url: '/search/b%C3%B6oks/_bulk', headers: { authorization: `Basic ${btoa('elastic:p@ss')}` } },
    ]);
  });
});

describe('a client in place of the URL', () => {
  interface Params {
    readonly index?: string;
    readonly body: string;
  }

  const items = [{ index: { _index: 'books', _id: '1', status: 201, result: 'created' } }];

  function clientOf(answer: () => unknown) {
    const calls: [Params, { signal: AbortSignal }][] = [];
    const client = {
      async bulk(params: Params, options: { signal: AbortSignal }) {
        calls.push([params, options]);
        return answer();
      },
    };
    return { client, calls };
  }

  test.each<[string, unknown]>([
    ['Elasticsearch 8 and 9', { took: 1, errors: false, items }],
    ['OpenSearch and Elasticsearch 7', { statusCode: 200, body: { took: 1, errors: false, items } }],
  ])('is asked as that of %s', async (_, answer) => {
    const { client, calls } = clientOf(() => answer);
    const books = bulkBatcher({ client, index: 'books' });
    expect(await books.submit(write('1'))).toMatchObject({ result: 'created' });
    expect(calls).toEqual([
      [
        { index: 'books', body: '{"index":{"_id":"1"}}\n{"title":"1"}\n' },
        { signal: expect.any(AbortSignal) },
      ],
    ]);
  });

  test.each<[string, unknown, object]>([
    [
      '429',
      { statusCode: 429, meta: { headers: { 'retry-after': '2' } } },
      { code: 'OVERLOADED', retryAfterMs: 2000 },
    ],
    ['502', { statusCode: 502, meta: {} }, { code: 'UNAVAILABLE' }],
    [
      '400',
      { statusCode: 400 },
      { code: 'INVALID_ITEM', message: expect.stringContaining('400: from the client') },
    ],
    ['no connection', { name: 'ConnectionError' }, { code: 'UNAVAILABLE' }],
    ['anything else', { name: 'ConfigurationError' }, { name: 'ConfigurationError' }],
  ])('may fail with %s', async (_, fields, expected) => {
    const error = Object.assign(new Error('from the client'), fields);
    const { client, calls } = clientOf(() => {
      throw error;
    });
    const books = bulkBatcher({ client, index: 'books' });
    const outcome = await books.submit(write('1')).catch((rejected) => rejected);
    expect(outcome).toMatchObject(expected);
    expect(outcome === error || outcome.cause === error).toBe(true);
    expect(calls).toHaveLength(1);
  });

  test('may fail with what is not an Error', async () => {
    const { client } = clientOf(() => Promise.reject('gone'));
    const books = bulkBatcher({ client, index: 'books' });
    await expect(books.submit(write('1'))).rejects.toMatchObject({ code: 'HANDLER_FAILED', cause: 'gone' });
  });
});

test.each<[object, string]>([
  [{ node: undefined }, 'expected either node or client.'],
  [{ client: { bulk() {} } }, 'expected either node or client.'],
  [{ node: 'localhost:9200' }, 'node: expected an http URL, got localhost:9200.'],
  [{ node: undefined, client: {} }, 'client: expected an object with bulk().'],
  [{ index: '' }, 'index: expected the name of an index, got .'],
  [{ maxBytes: 104857601 }, 'maxBytes: expected a whole number from 1 to 104857600, got 104857601.'],
  [{ maxBatchSize: 10 }, 'maxBatchSize is not an option of bulkBatcher; see maxBytes.'],
  [{ nodes: [] }, 'unknown option "nodes"'],
])('options %o are rejected', (options, message) => {
  const make = () => bulkBatcher({ node: 'http://localhost', ...options });
  expect(make).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  expect(make).toThrow(message);
});
