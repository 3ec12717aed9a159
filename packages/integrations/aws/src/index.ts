/**
 * What the batchers for DynamoDB, SQS and SNS share.
 *
 *     import { InOrder } from '@batchwise/aws';
 *
 *     const inOrder = new InOrder();
 *     const first = inOrder.run(['ada'], async () => console.log('first'));
 *     const second = inOrder.run(['ada'], async () => console.log('second')); // starts when the first has ended
 *     await Promise.all([first, second]);
 */

export { type Answer, batchRequest, type Entry } from './batch-request.js';
export { type EntryBatcherOptions, type EntryOperation, entryBatcher } from './entry-batcher.js';
export { InOrder } from './in-order.js';
export { checkWithin, invalidItem, invalidOption } from './invalid-input.js';
export type { AcceptedMessage, Attribute, Message, MessageEntry, MessageFormat } from './message-entry.js';
export { pause } from './pause.js';
export { outageOf, type SdkError, ServiceErrors } from './service-errors.js';
