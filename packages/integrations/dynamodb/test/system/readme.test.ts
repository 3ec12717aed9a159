import * as clientModule from '@aws-sdk/client-dynamodb';
import * as documentModule from '@aws-sdk/lib-dynamodb';
import * as module from '@batchwise/dynamodb';
import { expect, onTestFinished, test } from 'vitest';
import { startDynalite } from '../../../../../scripts/services/dynalite.js';
import { readmeProgram } from '../../../fetch/test/readme-program.js';

test('the program of the README prints what it says', async () => {
  const { expected, run } = readmeProgram(new URL('../../README.md', import.meta.url));
  const service = await startDynalite();
  const client = new clientModule.DynamoDBClient(service.clientConfig);
  onTestFinished(async () => {
    client.destroy();
    await service.close();
  });
  await client.send(
    new clientModule.CreateTableCommand({
      TableName: 'users',
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    }),
  );
  const modules = {
    '@aws-sdk/client-dynamodb': clientModule,
    '@aws-sdk/lib-dynamodb': documentModule,
    '@batchwise/dynamodb': module,
  };
  const config = JSON.stringify(service.clientConfig);
  expect(await run(modules, { 'DynamoDBClient({})': `DynamoDBClient(${config})` })).toBe(expected);
});
