/** Look-ups by primary key, up to 100 in one BatchGetItem. */
import { BatchGetCommand, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { invalidOption } from '@batchwise/aws';
import { Batcher } from 'batchwise';
import { PrimaryKey } from './primary-key.js';
import { Callers, type Operation, processRequests, type Request } from './process-requests.js';
import {
  type Attributes,
  batcherOptions,
  type CoreOptions,
  checkTable,
  type TableOptions,
} from './table-options.js';

export interface GetBatcherOptions extends TableOptions, CoreOptions<Attributes> {
  /**
   * Whether reads see every write that was answered before. Costs twice the read capacity.
   * @default false
   */
  readonly consistentRead?: boolean | undefined;
}

const BATCH_GET_ITEM = { operation: 'BatchGetItem', limit: 100 };

interface Get extends Request {
  readonly key: Attributes;
  readonly text: string;
  readonly positions: number[];
}

/** `submit(key)` resolves to the item, or to undefined if there is none. */
export function getBatcher<Item extends Attributes = Attributes>(
  client: DynamoDBDocumentClient,
  options: GetBatcherOptions,
): Batcher<Attributes, Item | undefined> {
  checkTable(options);
  const { table, keys, consistentRead = false, ...rest } = options;
  if (typeof consistentRead !== 'boolean') {
    throw invalidOption(`consistentRead: expected true or false, got ${consistentRead}.`);
  }
  const settings = batcherOptions(rest, BATCH_GET_ITEM);
  const primaryKey = new PrimaryKey(keys);

  return new Batcher<Attributes, Item | undefined>(async (items, context) => {
    const callers = new Callers(context);
    const operation: Operation<Get> = {
      name: context.name,
      clock: settings.clock,
      async send(gets, abortSignal) {
        const Keys = gets.map(({ key }) => key);
        const command = new BatchGetCommand({
          RequestItems: { [table]: { Keys, ConsistentRead: consistentRead } },
        });
        const { Responses, UnprocessedKeys } = await client.send(command, { abortSignal });
        const found = primaryKey.textsIn(itemsIn(Responses), gets);
        const unprocessed = primaryKey.textsIn(keysIn(UnprocessedKeys), gets);
        for (const get of gets) if (!unprocessed.has(get.text)) callers.answer(get, found.get(get.text));
        return gets.filter(({ text }) => unprocessed.has(text));
      },
    };
    const gets = distinctGets(items, primaryKey, callers);
    // More than one request only after configure() has raised maxBatchSize.
    for (let start = 0; start < gets.length; start += BATCH_GET_ITEM.limit) {
      await processRequests(gets.slice(start, start + BATCH_GET_ITEM.limit), operation, callers);
    }
    return context.answered;
  }, settings);
}

/** DynamoDB rejects a request that names a key twice: each key once, with all its callers. */
function distinctGets(items: readonly Attributes[], primaryKey: PrimaryKey, callers: Callers): Get[] {
  const byText = new Map<string, Get>();
  for (const [position, key] of items.entries()) {
    try {
      const text = primaryKey.textOfOnly(key);
      const get = byText.get(text);
      if (get === undefined) byText.set(text, { key, text, positions: [position] });
      else get.positions.push(position);
    } catch (error) {
      callers.reject(position, error);
    }
  }
  return [...byText.values()];
}

function itemsIn(responses: Record<string, Attributes[]> | undefined): Attributes[] {
  return Object.values(responses ?? {}).flat();
}

function keysIn(unprocessed: Record<string, { Keys: Attributes[] | undefined }> | undefined): Attributes[] {
  return Object.values(unprocessed ?? {}).flatMap(({ Keys }) => Keys ?? []);
}
