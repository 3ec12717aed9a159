/**
 * Single writes into `_bulk` requests of Elasticsearch and OpenSearch.
 *
 *     import { bulkBatcher } from '@batchwise/elasticsearch';
 *
 *     const books = bulkBatcher({ node: 'http://localhost:9200', index: 'books' });
 *     await Promise.all([
 *       books.submit({ index: { _id: '1' }, doc: { title: 'Emma' } }), // one request for both
 *       books.submit({ update: { _id: '2' }, doc: { stars: 5 }, doc_as_upsert: true }),
 *     ]);
 *     await books.close();
 */

export type { Fetch, HttpAnswer } from '@batchwise/fetch';
export { type BulkAuth, type BulkBatcherOptions, bulkBatcher } from './bulk-batcher.js';
export type { BulkOperation, BulkTarget } from './bulk-operation.js';
export type { BulkClient } from './bulk-request.js';
export { BulkItemError, type BulkResult } from './bulk-results.js';
