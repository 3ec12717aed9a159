/** A table behind a document client, in virtual time: a test decides what each request does. */
import {
  BatchGetCommand,
  type BatchGetCommandInput,
  BatchWriteCommand,
  type BatchWriteCommandInput,
  type DynamoDBDocumentClient,
} from '@aws-sdk/lib-dynamodb';
import type { VirtualClock } from 'batchwise';

export interface Item {
  readonly id: string;
  readonly [name: string]: unknown;
}

export interface SentWrite {
  readonly PutRequest?: { readonly Item: Item };
  readonly DeleteRequest?: { readonly Key: Item };
}

/** What becomes of one request. Ids in `unprocessed` are left out; an error fails it before anything is done. */
export interface Plan {
  readonly unprocessed?: readonly string[];
  readonly error?: Error;
  readonly delayMs?: number;
}

export function sdkError(name: string, fields: object = { $metadata: { httpStatusCode: 400 } }): Error {
  return Object.assign(new Error(`${name} of the test`), { name }, fields);
}

export class ScriptedTable {
  readonly items = new Map<string, Item>();
  /** The ids in each request, in order. */
  readonly requests: string[][] = [];
  readonly signals: (AbortSignal | undefined)[] = [];
  readonly #clock: VirtualClock;
  readonly #plan: (ids: readonly string[], request: number) => Plan;

  constructor(clock: VirtualClock, plan: (ids: readonly string[], request: number) => Plan = () => ({})) {
    this.#clock = clock;
    this.#plan = plan;
  }

  get client(): DynamoDBDocumentClient {
    const send = (command: unknown, { abortSignal }: { abortSignal?: AbortSignal } = {}) => {
      this.signals.push(abortSignal);
      if (command instanceof BatchGetCommand) return this.#get(command.input);
      if (command instanceof BatchWriteCommand) return this.#write(command.input);
      throw new Error('The test knows BatchGet and BatchWrite only.');
    };
    return { send } as unknown as DynamoDBDocumentClient;
  }

  async #get({ RequestItems }: BatchGetCommandInput) {
    const keys = (RequestItems?.users?.Keys ?? []) as Item[];
    const unprocessed = await this.#proceed(keys.map(({ id }) => id));
    const left = keys.filter(({ id }) => unprocessed.includes(id));
    const found = keys.flatMap(({ id }) => (unprocessed.includes(id) ? [] : (this.items.get(id) ?? [])));
    return {
      Responses: { users: found.reverse() },
      UnprocessedKeys: left.length > 0 ? { users: { Keys: left } } : {},
    };
  }

  async #write({ RequestItems }: BatchWriteCommandInput) {
    const writes = (RequestItems?.users ?? []) as SentWrite[];
    const unprocessed = await this.#proceed(writes.map(idOf));
    for (const write of writes) {
      if (unprocessed.includes(idOf(write))) continue;
      if (write.PutRequest) this.items.set(idOf(write), write.PutRequest.Item);
      else this.items.delete(idOf(write));
    }
    const left = writes.filter((write) => unprocessed.includes(idOf(write)));
    return { UnprocessedItems: left.length > 0 ? { users: left } : {} };
  }

  async #proceed(ids: string[]): Promise<readonly string[]> {
    const { unprocessed = [], error, delayMs } = this.#plan(ids, this.requests.length);
    this.requests.push(ids);
    if (new Set(ids).size < ids.length) throw sdkError('ValidationException');
    if (delayMs !== undefined) await new Promise<void>((resolve) => this.#clock.setTimer(resolve, delayMs));
    if (error !== undefined) throw error;
    return unprocessed;
  }
}

function idOf({ PutRequest, DeleteRequest }: SentWrite): string {
  return (PutRequest?.Item ?? DeleteRequest?.Key)?.id ?? '';
}
