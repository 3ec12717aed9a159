/** The spike's processor: one round trip a batch, as answers leave with the next read in one write. */
import type { BatchHandler } from '../batch-handler.js';
import type { ContenderProcessor } from '../contender.js';
import { type Item, MAX_BATCH_SIZE } from '../item.js';
import { connectSpike, type SpikeConnection } from './spike-connection.js';
import { GROUP, REQUESTS, repliesKey } from './spike-keys.js';

type Entry = [id: string, fields: string[]];

const CONSUMER = `processor-${process.pid}`;
/** Many more than one client could leave unread in this benchmark. */
const KEPT_REPLIES = 10_000;

export class SpikeProcessor implements ContenderProcessor {
  readonly #connection: SpikeConnection;
  readonly #handler: BatchHandler;

  private constructor(connection: SpikeConnection, handler: BatchHandler) {
    this.#connection = connection;
    this.#handler = handler;
  }

  static async start(this: void, url: string, handler: BatchHandler): Promise<SpikeProcessor> {
    const connection = await connectSpike(url);
    await createGroup(connection);
    const processor = new SpikeProcessor(connection, handler);
    // Ends with the connection, when it is closed.
    processor.#run().catch(() => {});
    return processor;
  }

  async close(): Promise<void> {
    this.#connection.destroy();
  }

  async #run(): Promise<void> {
    while (true) {
      const entries = await this.#read();
      const items = entries.map(([, fields]) => JSON.parse(fields[5] ?? 'null') as Item);
      const answers = await this.#handler(items);
      this.#answer(entries, answers);
    }
  }

  async #read(): Promise<Entry[]> {
    const args = ['XREADGROUP', 'GROUP', GROUP, CONSUMER, 'COUNT', String(MAX_BATCH_SIZE)];
    args.push('BLOCK', '0', 'STREAMS', REQUESTS, '>');
    const reply = await this.#connection.sendCommand<Record<string, Entry[]>>(args);
    return reply[REQUESTS] ?? [];
  }

  /** Waits for nothing: what it writes goes out in front of the next read. */
  #answer(entries: readonly Entry[], answers: readonly Item[]): void {
    const byClient = new Map<string, [number: number, answer: Item][]>();
    entries.forEach(([, [, clientId = '', , number]], index) => {
      const list = byClient.get(clientId);
      const answer: [number, Item] = [Number(number), answers[index] as Item];
      if (list === undefined) byClient.set(clientId, [answer]);
      else list.push(answer);
    });
    for (const [clientId, list] of byClient) {
      const args = ['XADD', repliesKey(clientId), 'MAXLEN', '~', String(KEPT_REPLIES), '*'];
      this.#send([...args, 'a', JSON.stringify(list)]);
    }
    const ids = entries.map(([id]) => id);
    this.#send(['XACK', REQUESTS, GROUP, ...ids]);
    this.#send(['XDEL', REQUESTS, ...ids]);
  }

  #send(args: string[]): void {
    this.#connection.sendCommand(args).catch(() => {});
  }
}

async function createGroup(connection: SpikeConnection): Promise<void> {
  try {
    await connection.sendCommand(['XGROUP', 'CREATE', REQUESTS, GROUP, '0', 'MKSTREAM']);
  } catch (error) {
    // The other processor was first.
    if (!(error as Error).message.startsWith('BUSYGROUP')) throw error;
  }
}
