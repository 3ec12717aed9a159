/** The batchers against dynalite, which answers as DynamoDB does; failures are made by a server in front of it. */
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, NumberValue } from '@aws-sdk/lib-dynamodb';
import { BatchwiseError } from 'batchwise';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { startDynalite } from '../../../../../scripts/services/dynalite.js';
import { getBatcher, type Write, writeBatcher } from '../../src/index.js';
import { outcomes } from '../support/outcomes.js';

type Service = Awaited<ReturnType<typeof startDynalite>>;
type Intercept = NonNullable<NonNullable<Parameters<typeof startDynalite>[0]>['intercept']>;

const passOn: Intercept = (_operation, input, forward) => forward(input);

/** What the server in front of dynalite does, and which requests it saw. */
let intercept: Intercept = passOn;
let seen: string[] = [];
let service: Service;
let plainClient: DynamoDBClient;
let client: DynamoDBDocumentClient;

beforeAll(async () => {
  service = await startDynalite({
    intercept: (operation, input, forward) => {
      seen.push(operation);
      return intercept(operation, input, forward);
    },
  });
  plainClient = new DynamoDBClient({ ...service.clientConfig, maxAttempts: 1 });
  client = DynamoDBDocumentClient.from(plainClient);
  await createTable('users', { id: 'S' });
  await createTable('events', { user: 'S', at: 'N' });
});

afterAll(async () => {
  plainClient?.destroy();
  await service?.close();
});

beforeEach(() => {
  intercept = passOn;
  seen = [];
});

async function createTable(TableName: string, keys: Record<string, 'S' | 'N'>) {
  const names = Object.keys(keys);
  await plainClient.send(
    new CreateTableCommand({
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: names.map((name) => ({ AttributeName: name, AttributeType: keys[name] })),
      KeySchema: names.map((name, index) => ({
        AttributeName: name,
        KeyType: index === 0 ? 'HASH' : 'RANGE',
      })),
    }),
  );
}

async function stored(table: string, key: Record<string, unknown>) {
  const { Item } = await client.send(new GetCommand({ TableName: table, Key: key, ConsistentRead: true }));
  return Item;
}

const users = { table: 'users', keys: ['id'] };
const events = { table: 'events', keys: ['user', 'at'] };

test('what is written is read, with partition and sort key, in any order', async () => {
  await using writes = writeBatcher(client, events);
  await using reads = getBatcher(client, { ...events, consistentRead: true });
  const items = Array.from({ length: 60 }, (_, index) => ({
    user: `user ${index % 7}`,
    at: index / 4,
    index,
  }));
  await writes.submitMany(items.map((item): Write => ({ put: item })));
  const keys = items.map(({ user, at }) => ({ user, at }));
  expect(await reads.submitMany([...keys].reverse())).toEqual([...items].reverse());
  await writes.submitMany(keys.slice(0, 30).map((key): Write => ({ delete: key })));
  expect(await reads.submitMany(keys)).toEqual([
    ...keys.slice(0, 30).map(() => undefined),
    ...items.slice(30),
  ]);
  expect(seen.filter((operation) => operation === 'BatchWriteItem').length).toBeLessThanOrEqual(6);
});

test('duplicate keys in one batch are read once and written in order', async () => {
  await using writes = writeBatcher(client, users);
  const versions = Array.from({ length: 10 }, (_, version): Write => ({ put: { id: 'twice', version } }));
  await writes.submitMany([...versions, { delete: { id: 'never' } }, { put: { id: 'never', version: 1 } }]);
  await using reads = getBatcher(client, { ...users, consistentRead: true });
  seen = [];
  expect(await reads.submitMany([{ id: 'twice' }, { id: 'never' }, { id: 'twice' }])).toEqual([
    { id: 'twice', version: 9 },
    { id: 'never', version: 1 },
    { id: 'twice', version: 9 },
  ]);
  expect(seen).toEqual(['BatchGetItem']);
});

test('numbers in any form find their item', async () => {
  // A client of its own: document clients made from one client share their settings.
  const otherClient = new DynamoDBClient(service.clientConfig);
  onTestFinished(() => otherClient.destroy());
  const wrapping = DynamoDBDocumentClient.from(otherClient, { unmarshallOptions: { wrapNumbers: true } });
  await using writes = writeBatcher(client, events);
  await writes.submitMany([1500, 0.25, -7].map((at): Write => ({ put: { user: 'numbers', at } })));
  for (const reading of [client, wrapping]) {
    await using reads = getBatcher(reading, events);
    const found = await reads.submitMany([1500n, 25e-2, -7.0].map((at) => ({ user: 'numbers', at })));
    expect(found.map((item) => Number(item?.at))).toEqual([1500, 0.25, -7]);
  }
});

test('an item of the wrong type fails alone', async () => {
  await using writes = writeBatcher(client, users);
  const ids = ['good 1', 'good 2', 7, 'good 3', 'good 4'];
  const results = await outcomes(ids.map((id) => writes.submit({ put: { id } })));
  expect(results).toEqual(['ok', 'ok', 'INVALID_ITEM', 'ok', 'ok']);
  for (const id of ids) if (typeof id === 'string') expect(await stored('users', { id })).toEqual({ id });
});

test('an attribute that the document client cannot convert fails its item alone', async () => {
  await using writes = writeBatcher(client, users);
  const results = await outcomes([
    writes.submit({ put: { id: 'plain' } }),
    writes.submit({ put: { id: 'dated', at: new Date(0) } }),
    writes.submit({ put: { id: 'large', number: 1e300 } }),
  ]);
  expect(results).toEqual(['ok', 'INVALID_ITEM', 'INVALID_ITEM']);
  expect(await stored('users', { id: 'plain' })).toEqual({ id: 'plain' });
});

test('an item with a number that JavaScript cannot represent fails alone when it is read', async () => {
  await using writes = writeBatcher(client, users);
  const precise = NumberValue.from('12345678901234567890.5');
  await writes.submitMany([1, precise, 2].map((n, index): Write => ({ put: { id: `n ${index}`, n } })));
  await using reads = getBatcher(client, users);
  const results = await outcomes([0, 1, 2].map((index) => reads.submit({ id: `n ${index}` })));
  expect(results).toEqual([{ id: 'n 0', n: 1 }, 'INVALID_ITEM', { id: 'n 2', n: 2 }]);
});

test('large items are read in several requests, as many as DynamoDB wants', async () => {
  await using writes = writeBatcher(client, users);
  const text = 'x'.repeat(100_000);
  const items = Array.from({ length: 40 }, (_, index) => ({ id: `large ${index}`, text }));
  await writes.submitMany(items.map((item): Write => ({ put: item })));
  seen = [];
  await using reads = getBatcher(client, users);
  expect(await reads.submitMany(items.map(({ id }) => ({ id })))).toEqual(items);
  expect(seen.length).toBeGreaterThan(1); // dynalite returns about 1 MB at a time
});

test('unprocessed items are written later', async () => {
  let left = 3;
  intercept = async (operation, input, forward) => {
    if (operation !== 'BatchWriteItem' || left === 0) return forward(input);
    left -= 1;
    const { users: writes = [] } = input.RequestItems as Record<string, unknown[]>;
    const middle = Math.ceil(writes.length / 2);
    const answer = await forward({ RequestItems: { users: writes.slice(0, middle) } });
    return { ...answer, body: { UnprocessedItems: { users: writes.slice(middle) } } };
  };
  await using writes = writeBatcher(client, users);
  const ids = Array.from({ length: 16 }, (_, index) => `unprocessed ${index}`);
  await writes.submitMany(ids.map((id): Write => ({ put: { id } })));
  expect(seen).toHaveLength(4);
  for (const id of ids) expect(await stored('users', { id })).toEqual({ id });
});

test('a throttled request is sent again', async () => {
  let throttles = 2;
  intercept = async (_operation, input, forward) => {
    if (throttles === 0) return forward(input);
    throttles -= 1;
    const type = 'com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException';
    return { status: 400, body: { __type: type, message: 'Slow down.' } };
  };
  await using reads = getBatcher(client, users);
  expect(await reads.submitMany([{ id: 'nobody' }, { id: 'nothing' }])).toEqual([undefined, undefined]);
  expect(seen).toEqual(['BatchGetItem', 'BatchGetItem', 'BatchGetItem']);
});

test('a lost connection fails the callers of one request, which is not split', async () => {
  intercept = async () => undefined;
  await using writes = writeBatcher(client, users);
  const calls = Array.from({ length: 25 }, (_, index) => writes.submit({ put: { id: `lost ${index}` } }));
  const errors = await Promise.all(calls.map((call) => call.catch((error: unknown) => error)));
  for (const error of errors) {
    expect(error).toBeInstanceOf(BatchwiseError);
    expect(error).toMatchObject({ code: 'UNAVAILABLE', retryable: true });
  }
  expect(seen).toHaveLength(1);
});

test('a missing table fails the callers with the error of the SDK', async () => {
  await using reads = getBatcher(client, { table: 'missing', keys: ['id'] });
  const results = await outcomes([reads.submit({ id: 'a' }), reads.submit({ id: 'b' })]);
  expect(results).toEqual([
    'ResourceNotFoundException: Requested resource not found',
    'ResourceNotFoundException: Requested resource not found',
  ]);
  expect(seen).toHaveLength(1);
});
