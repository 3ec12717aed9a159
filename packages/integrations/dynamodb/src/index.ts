/**
 * Single gets and writes in DynamoDB, batched into BatchGetItem and BatchWriteItem.
 *
 *     import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
 *     import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
 *     import { getBatcher, writeBatcher } from '@batchwise/dynamodb';
 *
 *     const client = DynamoDBDocumentClient.from(new DynamoDBClient({}));
 *     const writes = writeBatcher(client, { table: 'users', keys: ['id'] });
 *     const users = getBatcher(client, { table: 'users', keys: ['id'], consistentRead: true });
 *
 *     await Promise.all([writes.submit({ put: { id: 'ada', age: 36 } }), writes.submit({ delete: { id: 'alan' } })]);
 *     console.log(await users.submit({ id: 'ada' })); // { id: 'ada', age: 36 }
 *     await Promise.all([writes.close(), users.close()]);
 */

export { type GetBatcherOptions, getBatcher } from './get-batcher.js';
export type { Attributes, TableOptions } from './table-options.js';
export { type Write, type WriteBatcherOptions, writeBatcher } from './write-batcher.js';
