import { BatchwiseError, VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import { type GetBatcherOptions, getBatcher } from '../src/index.js';
import { outcomes } from './support/outcomes.js';
import { type Plan, ScriptedTable, sdkError } from './support/scripted-table.js';

function users(
  plan?: (ids: readonly string[], request: number) => Plan,
  options?: Partial<GetBatcherOptions>,
) {
  const clock = new VirtualClock();
  const table = new ScriptedTable(clock, plan);
  for (const id of ['a', 'b', 'c', 'd']) table.items.set(id, { id, name: `name of ${id}` });
  const batcher = getBatcher(table.client, { table: 'users', keys: ['id'], clock, ...options });
  const ask = (...ids: string[]) => outcomes(ids.map((id) => batcher.submit({ id })));
  return { clock, table, batcher, ask };
}

test('each caller gets the item of its own key, or undefined', async () => {
  const { clock, table, batcher } = users();
  const answers = Promise.all(['b', 'none', 'a'].map((id) => batcher.submit({ id })));
  await clock.advance(0);
  expect(await answers).toEqual([{ id: 'b', name: 'name of b' }, undefined, { id: 'a', name: 'name of a' }]);
  expect(table.requests).toEqual([['b', 'none', 'a']]);
});

test('a key that several callers ask for is sent once and answered to all', async () => {
  const { clock, table, ask } = users();
  const answers = ask('a', 'b', 'a', 'none', 'none', 'a');
  await clock.advance(0);
  const [a, b] = ['a', 'b'].map((id) => table.items.get(id));
  expect(await answers).toEqual([a, b, a, 'ok', 'ok', a]);
  expect(table.requests).toEqual([['a', 'b', 'none']]);
});

test('unprocessed keys are sent again with growing delays, and processed ones are answered meanwhile', async () => {
  const { clock, table, batcher } = users((_, request) => ({ unprocessed: request < 2 ? ['b'] : [] }));
  const answered: string[] = [];
  for (const id of ['a', 'b']) void batcher.submit({ id }).then(() => answered.push(id));
  await clock.advance(24);
  expect(answered).toEqual(['a']);
  expect(table.requests).toHaveLength(1);
  await clock.advance(26); // the first delay is 25 to 50 ms
  expect(table.requests).toEqual([['a', 'b'], ['b']]);
  await clock.advance(24); // at least 50 ms after the first
  expect(table.requests).toHaveLength(2);
  await clock.advance(76);
  expect(table.requests).toEqual([['a', 'b'], ['b'], ['b']]);
  expect(answered).toEqual(['a', 'b']);
  expect(clock.pendingTimers).toBe(0);
});

test('a request that is throttled as a whole is sent again as it is', async () => {
  const throttle = sdkError('ProvisionedThroughputExceededException');
  const { clock, table, ask } = users((_, request) => (request === 0 ? { error: throttle } : {}));
  const answers = ask('a', 'b');
  await clock.advance(50);
  expect(await answers).toEqual([table.items.get('a'), table.items.get('b')]);
  expect(table.requests).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ]);
});

test('keys that stay unprocessed fail with a retryable error, and only these', async () => {
  const throttle = sdkError('ThrottlingException');
  const { clock, table, batcher } = users((ids) =>
    ids.includes('a') ? { unprocessed: ['b'] } : { error: throttle },
  );
  const [a, b] = [batcher.submit({ id: 'a' }), batcher.submit({ id: 'b' })];
  const error = b.then(() => undefined).catch((thrown: unknown) => thrown);
  await clock.advance(60_000);
  expect(await a).toEqual(table.items.get('a'));
  const thrown = await error;
  expect(thrown).toBeInstanceOf(BatchwiseError);
  expect(thrown).toMatchObject({ code: 'OVERLOADED', retryable: true, retryAfterMs: 2000, cause: throttle });
  expect(table.requests).toHaveLength(11); // one that made progress, ten that did not
});

test('retries go on as long as some keys are processed each time', async () => {
  const ids = Array.from({ length: 30 }, (_, index) => `key ${index}`);
  const { clock, table, ask } = users((asked) => ({ unprocessed: asked.slice(1) }));
  const answers = ask(...ids);
  await clock.advance(120_000);
  expect(await answers).toEqual(ids.map(() => 'ok'));
  expect(table.requests).toHaveLength(30);
});

test('a key whose caller is gone is not sent again', async () => {
  const { clock, table, batcher } = users((asked) => ({ unprocessed: asked }));
  const [early, patient] = [
    outcomes([batcher.submit({ id: 'a' }, { timeoutMs: 10 })]),
    outcomes([batcher.submit({ id: 'b' }, { timeoutMs: 400 })]),
  ];
  await clock.advance(1000);
  expect(await early).toEqual(['DEADLINE_EXCEEDED']);
  expect(await patient).toEqual(['DEADLINE_EXCEEDED']);
  expect(table.requests[0]).toEqual(['a', 'b']);
  expect(table.requests.length).toBeGreaterThan(1);
  for (const request of table.requests.slice(1)) expect(request).toEqual(['b']);
  expect(clock.pendingTimers).toBe(0);
});

test('the request is aborted when no caller waits any more', async () => {
  const { clock, table, batcher } = users(() => ({ delayMs: 1000 }));
  const controller = new AbortController();
  const answers = outcomes(['a', 'b'].map((id) => batcher.submit({ id }, { signal: controller.signal })));
  await clock.advance(0);
  expect(table.signals.map((signal) => signal?.aborted)).toEqual([false]);
  controller.abort();
  expect(await answers).toEqual(['CANCELLED', 'CANCELLED']);
  expect(table.signals.map((signal) => signal?.aborted)).toEqual([true]);
});

test('a key that DynamoDB rejects fails alone', async () => {
  const { clock, table, ask } = users((ids) =>
    ids.includes('c') ? { error: sdkError('ValidationException') } : {},
  );
  const answers = ask('a', 'b', 'c', 'd');
  await clock.advance(0);
  const [a, b, d] = ['a', 'b', 'd'].map((id) => table.items.get(id));
  expect(await answers).toEqual([a, b, 'INVALID_ITEM', d]);
});

test.each([
  ['a lost connection', sdkError('Error', { code: 'ECONNRESET', $metadata: { attempts: 3 } }), 'UNAVAILABLE'],
  [
    'a server error',
    sdkError('InternalServerError', { $fault: 'server', $metadata: { httpStatusCode: 500 } }),
    'UNAVAILABLE',
  ],
  [
    'a missing table',
    sdkError('ResourceNotFoundException'),
    'ResourceNotFoundException: ResourceNotFoundException of the test',
  ],
  [
    'missing credentials',
    sdkError('CredentialsProviderError', {}),
    'CredentialsProviderError: CredentialsProviderError of the test',
  ],
])('%s fails all callers after one request', async (_, error, expected) => {
  const { clock, table, ask } = users(() => ({ error }));
  const answers = ask('a', 'b', 'c');
  await clock.advance(60_000);
  expect(await answers).toEqual([expected, expected, expected]);
  expect(table.requests).toHaveLength(1);
});

test('an invalid key fails at its caller and is never sent', async () => {
  const { clock, table, batcher } = users();
  const invalid = [
    {},
    { id: '' },
    { id: true },
    { id: Number.NaN },
    { id: 'a', more: 1 },
    { id: 'x'.repeat(2049) },
  ];
  const answers = outcomes([...invalid, null, { id: 'a' }].map((key) => batcher.submit(key as never)));
  await clock.advance(0);
  expect(await answers).toEqual([...invalid.map(() => 'INVALID_ITEM'), 'INVALID_ITEM', table.items.get('a')]);
  expect(table.requests).toEqual([['a']]);
});

test('an answer for another key fails the callers instead of telling them that there is no item', async () => {
  const { clock, table, ask } = users();
  table.items.set('a', { id: 'A' });
  const answers = ask('a', 'b');
  await clock.advance(0);
  expect(await answers).toEqual(['BAD_RESULT', 'BAD_RESULT']);
});

test('no more than 100 keys are sent in a request, even after configure()', async () => {
  const { clock, table, batcher, ask } = users();
  batcher.configure({ maxBatchSize: 1000 });
  const ids = Array.from({ length: 250 }, (_, index) => `key ${index}`);
  const answers = ask(...ids);
  await clock.advance(1000);
  expect(await answers).toHaveLength(250);
  expect(Math.max(...table.requests.map((request) => request.length))).toBe(100);
  expect(table.requests.flat().sort()).toEqual([...ids].sort());
});

test.each([
  [{ maxBatchSize: 101 }, /maxBatchSize: expected 1 to 100, the limit of BatchGetItem, got 101/],
  [{ maxBatchSize: -1 }, /maxBatchSize/],
  [{ maxBatchSize: Number.POSITIVE_INFINITY }, /maxBatchSize/],
  [{ table: '' }, /table: expected the name or the ARN/],
  [{ keys: [] }, /keys: expected the names/],
  [{ keys: ['id', 'id'] }, /keys: expected the names/],
  [{ keys: 'id' }, /keys: expected the names/],
  [{ consistentRead: 'yes' }, /consistentRead: expected true or false/],
  [{ costOf: () => 2 }, /costOf/],
  [{ tabel: 'users' }, /unknown option "tabel"/],
])('the option %o is rejected', (options, message) => {
  expect(() => users(undefined, options as never)).toThrow(message);
  try {
    users(undefined, options as never);
  } catch (error) {
    expect(error).toMatchObject({ code: 'INVALID_OPTION' });
  }
});
