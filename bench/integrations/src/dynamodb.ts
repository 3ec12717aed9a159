/** Gets and puts of one item each in DynamoDB (dynalite, in this process). */
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { getBatcher, writeBatcher } from '@batchwise/dynamodb';
import { startDynalite } from '../../../scripts/services/dynalite.js';
import { oneByOne } from './one-by-one.js';

const ITEMS = 1000;
const table = 'users';
const keys = ['id'];
const notes = ['against dynalite in the same process, not against AWS'];

const userOf = (index: number) => ({ id: `user ${index % ITEMS}`, name: 'Ada Lovelace', logins: index });

async function withTable() {
  const service = await startDynalite();
  const client = new DynamoDBClient(service.clientConfig);
  await client.send(
    new CreateTableCommand({
      TableName: table,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    }),
  );
  const close = async () => {
    client.destroy();
    await service.close();
  };
  return { document: DynamoDBDocumentClient.from(client), close };
}

export const dynamodbGet = oneByOne({
  name: 'dynamodb-get',
  item: 'get of one item',
  notes,
  async start() {
    const { document, close } = await withTable();
    const writes = writeBatcher(document, { table, keys });
    await writes.submitMany(Array.from({ length: ITEMS }, (_, index) => ({ put: userOf(index) })));
    await writes.close();
    const users = getBatcher(document, { table, keys });
    return {
      single: (index) =>
        document.send(new GetCommand({ TableName: table, Key: { id: `user ${index % ITEMS}` } })),
      batched: (index) => users.submit({ id: `user ${index % ITEMS}` }),
      async close() {
        await users.close();
        await close();
      },
    };
  },
});

export const dynamodbPut = oneByOne({
  name: 'dynamodb-put',
  item: 'put of one item',
  notes,
  async start() {
    const { document, close } = await withTable();
    const users = writeBatcher(document, { table, keys });
    return {
      single: (index) => document.send(new PutCommand({ TableName: table, Item: userOf(index) })),
      batched: (index) => users.submit({ put: userOf(index) }),
      async close() {
        await users.close();
        await close();
      },
    };
  },
});
