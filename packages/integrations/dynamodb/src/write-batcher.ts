/** Puts and deletes, up to 25 in one BatchWriteItem. */
import { BatchWriteCommand, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { InOrder, invalidItem } from '@batchwise/aws';
import { Batcher } from 'batchwise';
import { itemSize } from './item-size.js';
import { PrimaryKey } from './primary-key.js';
import { Callers, type Operation, processRequests, type Request } from './process-requests.js';
import {
  type Attributes,
  batcherOptions,
  type CoreOptions,
  checkTable,
  type TableOptions,
} from './table-options.js';

/** One of the two. */
export type Write =
  | { readonly put: Attributes; readonly delete?: never }
  | { readonly delete: Attributes; readonly put?: never };

export interface WriteBatcherOptions extends TableOptions, CoreOptions<Write> {}

const BATCH_WRITE_ITEM = { operation: 'BatchWriteItem', limit: 25 };
const MAX_ITEM_BYTES = 400 * 1024;
const MAX_REQUEST_BYTES = 16 * 1024 * 1024;

interface PendingWrite extends Request {
  readonly write: Write;
  readonly text: string;
  readonly wireBytes: number;
}

/** `submit({ put: item })` or `submit({ delete: key })` resolves when DynamoDB has written it. */
export function writeBatcher(
  client: DynamoDBDocumentClient,
  options: WriteBatcherOptions,
): Batcher<Write, void> {
  checkTable(options);
  const { table, keys, ...rest } = options;
  const settings = batcherOptions(rest, BATCH_WRITE_ITEM);
  const primaryKey = new PrimaryKey(keys);
  const inOrder = new InOrder();

  return new Batcher<Write, void>((items, context) => {
    const callers = new Callers(context);
    const operation: Operation<PendingWrite> = {
      name: context.name,
      clock: settings.clock,
      async send(writes, abortSignal) {
        const command = new BatchWriteCommand({ RequestItems: { [table]: writes.map(asWriteRequest) } });
        const { UnprocessedItems } = await client.send(command, { abortSignal });
        const unprocessed = primaryKey.textsIn(writtenIn(UnprocessedItems), writes);
        for (const write of writes) if (!unprocessed.has(write.text)) callers.answer(write, undefined);
        return writes.filter(({ text }) => unprocessed.has(text));
      },
    };
    const writes = validWrites(items, primaryKey, callers);
    return inOrder.run(new Set(writes.map(({ text }) => text)), async () => {
      for (const request of requestsOf(writes)) await processRequests(request, operation, callers);
      return context.answered;
    });
  }, settings);
}

function validWrites(items: readonly Write[], primaryKey: PrimaryKey, callers: Callers): PendingWrite[] {
  const writes: PendingWrite[] = [];
  for (const [position, write] of items.entries()) {
    try {
      writes.push({ write, positions: [position], ...examined(write, primaryKey) });
    } catch (error) {
      callers.reject(position, error);
    }
  }
  return writes;
}

function examined(write: Write, primaryKey: PrimaryKey): { text: string; wireBytes: number } {
  const { put, delete: key } = write;
  if ((put === undefined) === (key === undefined)) {
    throw invalidItem('expected { put: item } or { delete: key }, got both or neither.');
  }
  if (key !== undefined) return { text: primaryKey.textOfOnly(key), wireBytes: itemSize(key).wireBytes };
  const text = primaryKey.textOf(put as Attributes);
  const { storedBytes, wireBytes } = itemSize(put as Attributes);
  if (storedBytes <= MAX_ITEM_BYTES) return { text, wireBytes };
  throw invalidItem(`the item ${text} has ${storedBytes} bytes; DynamoDB takes up to ${MAX_ITEM_BYTES}.`);
}

/**
 * DynamoDB rejects a request with two writes of one item, and does not order the writes in a request: the second write
 * of an item goes into a later request, so that the last one submitted is the one that stays.
 */
function requestsOf(writes: readonly PendingWrite[]): PendingWrite[][] {
  const requests: { writes: PendingWrite[]; bytes: number }[] = [];
  const nextByText = new Map<string, number>();
  for (const write of writes) {
    let index = nextByText.get(write.text) ?? 0;
    while (isFull(requests[index], write)) index++;
    const request = requests[index] ?? { writes: [], bytes: 0 };
    requests[index] = request;
    request.writes.push(write);
    request.bytes += write.wireBytes;
    nextByText.set(write.text, index + 1);
  }
  return requests.map((request) => request.writes);
}

function isFull(
  request: { readonly writes: readonly unknown[]; readonly bytes: number } | undefined,
  { wireBytes }: PendingWrite,
): boolean {
  if (request === undefined) return false;
  return request.writes.length === BATCH_WRITE_ITEM.limit || request.bytes + wireBytes > MAX_REQUEST_BYTES;
}

function asWriteRequest({ write }: PendingWrite) {
  return write.put === undefined
    ? { DeleteRequest: { Key: write.delete } }
    : { PutRequest: { Item: write.put } };
}

interface WriteRequest {
  readonly PutRequest?: { readonly Item: Attributes | undefined } | undefined;
  readonly DeleteRequest?: { readonly Key: Attributes | undefined } | undefined;
}

function writtenIn(unprocessed: Record<string, WriteRequest[]> | undefined): Attributes[] {
  return Object.values(unprocessed ?? {})
    .flat()
    .flatMap(({ PutRequest, DeleteRequest }) => PutRequest?.Item ?? DeleteRequest?.Key ?? []);
}
