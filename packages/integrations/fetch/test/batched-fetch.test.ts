import { type BatchedFetchOptions, batchedFetch, type Id, MissingRowError } from '@batchwise/fetch';
import { greedy } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Answer, localServer, type Received } from './local-server.js';

interface User {
  readonly id: number;
  readonly name: string;
}

const userOf = (id: number): User => ({ id, name: `user ${id}` });
const idsOf = ({ url }: Received) =>
  new URL(url, 'http://localhost').searchParams.get('ids')?.split(',').map(Number) ?? [];

/** An endpoint `GET /users?ids=1,2` that has users below 1000, and a batcher for it. */
async function startUsers(
  options: Partial<BatchedFetchOptions<number, User>> = {},
  answer: (request: Received) => Answer | Promise<Answer> = (request) => ({
    body: idsOf(request)
      .filter((id) => id < 1000)
      .reverse()
      .map(userOf),
  }),
) {
  const server = await localServer(answer);
  const users = batchedFetch<number, User>({
    url: (ids) => `${server.url}/users?ids=${ids.join(',')}`,
    keyOf: ({ id }) => id,
    policy: greedy(),
    ...options,
  });
  onTestFinished(() => users.destroy());
  return { server, users };
}

/** What became of each call: its result or its error. */
async function outcomesOf<R>(calls: readonly Promise<R>[]): Promise<unknown[]> {
  const settled = await Promise.allSettled(calls);
  return settled.map((one) => (one.status === 'fulfilled' ? one.value : one.reason));
}

describe('ids of one turn', () => {
  test('are one request, and each caller gets its row', async () => {
    const { server, users } = await startUsers();
    expect(await users.submitMany([3, 1, 2])).toEqual([userOf(3), userOf(1), userOf(2)]);
    expect(server.requests).toMatchObject([
      { method: 'GET', url: '/users?ids=3,1,2', headers: { accept: 'application/json' }, body: '' },
    ]);
  });

  test('are asked for once, however many callers ask', async () => {
    const { server, users } = await startUsers();
    expect(await users.submitMany([1, 2, 1])).toEqual([userOf(1), userOf(2), userOf(1)]);
    expect(server.requests.map(({ url }) => url)).toEqual(['/users?ids=1,2']);
  });

  test('are asked for once while their request runs', async () => {
    const late: Promise<User | undefined>[] = [];
    const { server, users } = await startUsers({ dedupeBy: undefined }, () => {
      late.push(users.submit(1));
      return { body: [userOf(1)] };
    });
    expect(await users.submit(1)).toEqual(userOf(1));
    expect(await late[0]).toEqual(userOf(1));
    expect(server.requests).toHaveLength(1);
  });

  test('are asked for once in a request even without sharing of calls', async () => {
    const { server, users } = await startUsers({ dedupeBy: () => undefined });
    expect(await users.submitMany([1, 2, 1])).toEqual([userOf(1), userOf(2), userOf(1)]);
    expect(server.requests.map(({ url }) => url)).toEqual(['/users?ids=1,2']);
  });

  test('are compared with keys as texts', async () => {
    const server = await localServer(() => ({ body: [{ id: 7 }, { id: '8' }] }));
    const rows = batchedFetch<Id, { id: Id }>({ url: server.url, keyOf: ({ id }) => id });
    expect(await rows.submitMany(['7', 8, 8n, 7])).toEqual([{ id: 7 }, { id: '8' }, { id: '8' }, { id: 7 }]);
  });
});

describe('an id without a row', () => {
  test('is undefined, and so is a row that is null', async () => {
    const { users } = await startUsers({}, () => ({ body: [null, userOf(1)] }));
    expect(await users.submitMany([1, 1001])).toEqual([userOf(1), undefined]);
  });

  test("is an error of its own with missing: 'error'", async () => {
    const { users } = await startUsers({ missing: 'error' });
    const [found, missing] = await outcomesOf([users.submit(1), users.submit(1001)]);
    expect(found).toEqual(userOf(1));
    expect(missing).toBeInstanceOf(MissingRowError);
    expect(missing).toMatchObject({
      id: 1001,
      status: 404,
      message: 'fetch: there is no row with the key 1001.',
    });
  });

  test('fails alone where several rows have its key', async () => {
    const { users } = await startUsers({}, () => ({ body: [userOf(1), userOf(2), userOf(2)] }));
    const [one, two] = await outcomesOf([users.submit(1), users.submit(2)]);
    expect(one).toEqual(userOf(1));
    expect(two).toMatchObject({
      code: 'BAD_RESULT',
      message: 'fetch: expected one row with the key 2, got several.',
    });
  });
});

describe('the request', () => {
  test('has a JSON body and the method POST, where a body is given', async () => {
    const server = await localServer(({ body }) => ({ body: { users: JSON.parse(body).ids.map(userOf) } }));
    const users = batchedFetch({
      url: `${server.url}/search`,
      body: (ids: readonly number[]) => ({ ids }),
      headers: { authorization: 'Bearer key' },
      rowsOf: (answer) => (answer as { users: User[] }).users,
      keyOf: (user: User) => user.id,
    });
    expect(await users.submitMany([1, 2])).toEqual([userOf(1), userOf(2)]);
    expect(server.requests).toMatchObject([
      {
        method: 'POST',
        url: '/search',
        body: '{"ids":[1,2]}',
        headers: { 'content-type': 'application/json', authorization: 'Bearer key' },
      },
    ]);
  });

  test('has the method, the text as body and the headers that are given', async () => {
    const server = await localServer(() => ({ body: [] }));
    const rows = batchedFetch({
      url: new URL(server.url),
      method: 'QUERY',
      headers: { 'content-type': 'text/csv', accept: 'text/json' },
      body: (ids: readonly string[]) => ids.join('\n'),
      keyOf: (row: string) => row,
    });
    await rows.submitMany(['a', 'b']);
    expect(server.requests).toMatchObject([
      { method: 'QUERY', body: 'a\nb', headers: { 'content-type': 'text/csv', accept: 'text/json' } },
    ]);
  });

  test('is sent by the function that is given', async () => {
    const urls: string[] = [];
    const rows = batchedFetch({
      url: (ids: readonly number[]) => `users/${ids}`,
      keyOf: (row: User) => row.id,
      fetch: async (url) => {
        urls.push(url);
        return Response.json([userOf(1)]);
      },
    });
    expect(await rows.submit(1)).toEqual(userOf(1));
    expect(urls).toEqual(['users/1']);
  });

  test('is aborted when no caller waits for it any more', async () => {
    const controller = new AbortController();
    const { server, users } = await startUsers({}, () => {
      controller.abort();
      return new Promise(() => {});
    });
    const call = users.submit(1, { signal: controller.signal });
    await expect(call).rejects.toMatchObject({ code: 'CANCELLED' });
    await server.requests[0]?.abandoned;
  });
});

describe('limits', () => {
  test('at most maxBatchSize ids in a request, 100 unless given', async () => {
    const { server, users } = await startUsers();
    const ids = Array.from({ length: 250 }, (_, id) => id);
    expect(await users.submitMany(ids)).toEqual(ids.map(userOf));
    expect(server.requests.every((request) => idsOf(request).length <= 100)).toBe(true);
    expect(server.requests.flatMap(idsOf)).toEqual(ids);
  });

  test('the URL stays within maxUrlLength, and is used up to it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.string({ minLength: 1, maxLength: 60 }), { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 20 }),
        async (ids, maxBatchSize) => {
          const urls: string[] = [];
          const rows = batchedFetch<string, string>({
            url: (some) =>
              `http://localhost/rows?${some.map((id) => `id=${encodeURIComponent(id)}`).join('&')}`,
            keyOf: (row) => row,
            maxUrlLength: 600,
            maxBatchSize,
            fetch: async (url) => {
              urls.push(url);
              return Response.json(new URL(url).searchParams.getAll('id'));
            },
          });
          expect(await rows.submitMany(ids)).toEqual(ids);
          const asked = urls.map((url) => new URL(url).searchParams.getAll('id').length);
          expect(Math.max(0, ...urls.map((url) => url.length))).toBeLessThanOrEqual(600);
          expect(Math.max(0, ...asked)).toBeLessThanOrEqual(maxBatchSize);
          expect(asked.reduce((sum, count) => sum + count, 0)).toBe(ids.length);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('an unlimited number of ids fills the URL', async () => {
    const { server, users } = await startUsers({
      maxBatchSize: Number.POSITIVE_INFINITY,
      maxUrlLength: 1000,
    });
    const ids = Array.from({ length: 400 }, (_, id) => 100 + id);
    await users.submitMany(ids);
    const lengths = server.requests.map(({ url }) => server.url.length + url.length);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(1000);
    expect(Math.max(...lengths)).toBeGreaterThan(990);
    expect(server.requests.flatMap(idsOf)).toEqual(ids);
  });

  test('an id that is too long by itself is rejected alone', async () => {
    const server = await localServer(() => ({ body: [] }));
    const rows = batchedFetch({
      url: (ids: readonly string[]) => `${server.url}/${ids}`,
      keyOf: (row: string) => row,
      maxUrlLength: 100,
    });
    const [long, short] = await outcomesOf([rows.submit('x'.repeat(100)), rows.submit('y')]);
    expect(long).toMatchObject({
      code: 'INVALID_ITEM',
      message: expect.stringMatching(/the URL has \d+ characters, more than maxUrlLength \(100\)/),
    });
    expect(short).toBeUndefined();
    expect(server.requests).toHaveLength(1);
  });

  test('a URL that grows faster than the first ids told is split', async () => {
    const urls: string[] = [];
    const rows = batchedFetch({
      url: (ids: readonly number[]) => `http://localhost/${'x'.repeat(ids.length ** 2)}?ids=${ids}`,
      keyOf: (row: number) => row,
      maxUrlLength: 200,
      fetch: async (url) => {
        urls.push(url);
        return Response.json(url.split('=')[1]?.split(',').map(Number));
      },
    });
    const ids = Array.from({ length: 40 }, (_, id) => id);
    expect(await rows.submitMany(ids)).toEqual(ids);
    expect(Math.max(...urls.map((url) => url.length))).toBeLessThanOrEqual(200);
  });
});

describe('a request that fails', () => {
  const httpDate = (ms: number) => new Date(ms).toUTCString();

  test.each<[string, Answer, object]>([
    ['429', { status: 429, headers: { 'retry-after': '3' } }, { code: 'OVERLOADED', retryAfterMs: 3000 }],
    [
      '503 with a date',
      { status: 503, headers: { date: httpDate(1e12), 'retry-after': httpDate(1e12 + 5000) } },
      { code: 'UNAVAILABLE', retryAfterMs: 5000 },
    ],
    [
      '500',
      { status: 500, body: 'secret' },
      { code: 'UNAVAILABLE', message: 'fetch: the service answered with status 500' },
    ],
    [
      '401',
      { status: 401, body: 'who are you?' },
      { code: 'HANDLER_FAILED', message: expect.stringContaining('401: who are you?') },
    ],
    [
      'a page',
      { body: '<html>' },
      { code: 'BAD_RESULT', message: expect.stringContaining('not JSON: <html>') },
    ],
    [
      'no array',
      { body: { rows: [] } },
      { code: 'BAD_RESULT', message: expect.stringContaining('expected an array of rows as the answer') },
    ],
  ])('by %s rejects all its callers, and is not repeated', async (_, answer, expected) => {
    const { server, users } = await startUsers({}, () => answer);
    const outcomes = await outcomesOf([users.submit(1), users.submit(2)]);
    expect(outcomes).toMatchObject([expected, expected]);
    expect(server.requests).toHaveLength(1);
    if (answer.status !== undefined) {
      expect(outcomes[0]).toMatchObject({
        cause: { method: 'GET', status: answer.status, body: answer.body ?? '' },
      });
    }
  });

  test('because no server is there, is UNAVAILABLE with the reason as cause', async () => {
    const { server, users } = await startUsers();
    await server.stop();
    const [error] = await outcomesOf([users.submit(1)]);
    expect(error).toMatchObject({ code: 'UNAVAILABLE', retryable: true, cause: expect.any(TypeError) });
  });

  test('because the connection ends in the middle of the answer, is UNAVAILABLE', async () => {
    const fetch = async () =>
      new Response(
        new ReadableStream({
          start: (stream) => {
            stream.enqueue(new TextEncoder().encode('[{"id"'));
            stream.error(new Error('reset'));
          },
        }),
      );
    const { users } = await startUsers({ fetch });
    await expect(users.submit(1)).rejects.toMatchObject({ code: 'UNAVAILABLE', cause: { message: 'reset' } });
  });

  test.each([400, 413, 414, 422])('with %i for one id, rejects only this id', async (status) => {
    const { server, users } = await startUsers({}, (request) =>
      idsOf(request).includes(13) ? { status, body: 'bad id 13' } : { body: idsOf(request).map(userOf) },
    );
    const ids = Array.from({ length: 16 }, (_, id) => id);
    const outcomes = await outcomesOf(ids.map((id) => users.submit(id)));
    expect(outcomes[13]).toMatchObject({
      code: 'INVALID_ITEM',
      message: `fetch: the service answered with status ${status}: bad id 13`,
    });
    expect(outcomes.filter((_, id) => id !== 13)).toEqual(ids.filter((id) => id !== 13).map(userOf));
    // Halves: 16 ids, and then two requests at each of 4 levels.
    expect(server.requests.length).toBeLessThanOrEqual(9);
  });

  test('in keyOf or rowsOf rejects its callers with the reason as cause', async () => {
    const cause = new Error('no key');
    const { users } = await startUsers({
      keyOf: () => {
        throw cause;
      },
    });
    const [error] = await outcomesOf([users.submit(1)]);
    expect(error).toMatchObject({ code: 'BAD_RESULT', cause });
  });
});

test('an id that is no id is rejected alone', async () => {
  const { server, users } = await startUsers();
  const [wrong, right] = await outcomesOf([users.submit({} as never), users.submit(1)]);
  expect(wrong).toMatchObject({
    code: 'INVALID_ITEM',
    message: expect.stringContaining('expected a string, a number or a bigint as id, got object'),
  });
  expect(right).toEqual(userOf(1));
  expect(server.requests).toHaveLength(1);
});

test.each<[object, string]>([
  [{ url: 7 }, 'url: expected a URL, or a function that makes one from ids, got 7.'],
  [{ keyOf: 'id' }, 'keyOf: expected a function, got id.'],
  [{ rowsOf: 'rows' }, 'rowsOf: expected a function, got rows.'],
  [{ body: {} }, 'body: expected a function, got [object Object].'],
  [{ missing: 'throw' }, "missing: expected 'undefined' or 'error', got throw."],
  [{ maxUrlLength: 0 }, 'maxUrlLength: expected a whole number from 1 up, got 0.'],
  [{ maxBatchSize: 0 }, 'maxBatchSize: expected a whole number from 1 up'],
  [{ costOf: () => 1 }, 'costOf is not an option of batchedFetch.'],
  [{ keyof: () => 1 }, 'unknown option "keyof"'],
])('options %o are rejected', (options, message) => {
  const make = () => batchedFetch({ url: 'http://localhost', keyOf: (row: User) => row.id, ...options });
  expect(make).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  expect(make).toThrow(message);
});

test('options that are undefined count as not given', async () => {
  const undefinedOptions = { costOf: undefined, isolate: undefined, name: undefined, missing: undefined };
  const { users } = await startUsers(undefinedOptions);
  expect(await users.submitMany([1, 1001])).toEqual([userOf(1), undefined]);
});

test('the types of rows and ids are those of keyOf and url', () => {
  const users = batchedFetch({ url: (ids: readonly number[]) => `/${ids}`, keyOf: (user: User) => user.id });
  const found = batchedFetch({ url: '/', missing: 'error', keyOf: (user: User) => user.id });
  const check = async () => {
    const perhaps: User | undefined = await users.submit(1);
    const surely: User = await found.submit('1');
    // @ts-expect-error: an id of users is a number
    await users.submit('1');
    // @ts-expect-error: there may be no row
    const never: User = await users.submit(1);
    return [perhaps, surely, never];
  };
  expect(check).toBeTypeOf('function');
});
