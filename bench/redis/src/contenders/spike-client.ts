/** The spike's client: an XADD a request, which node-redis sends with all others of the same tick. */
import { randomUUID } from 'node:crypto';
import type { ContenderClient } from '../contender.js';
import type { Item } from '../item.js';
import { connectSpike, type SpikeConnection } from './spike-connection.js';
import { REQUESTS, repliesKey } from './spike-keys.js';

export class SpikeClient implements ContenderClient {
  readonly #clientId = randomUUID().slice(0, 8);
  readonly #writer: SpikeConnection;
  readonly #reader: SpikeConnection;
  readonly #waiting = new Map<number, (answer: Item) => void>();
  #lastNumber = 0;

  private constructor(writer: SpikeConnection, reader: SpikeConnection) {
    this.#writer = writer;
    this.#reader = reader;
  }

  static async connect(this: void, url: string): Promise<SpikeClient> {
    const client = new SpikeClient(await connectSpike(url), await connectSpike(url));
    // Ends with the connection, when it is closed.
    client.#readReplies().catch(() => {});
    return client;
  }

  submit(item: Item): Promise<Item> {
    return new Promise((resolve, reject) => {
      const number = ++this.#lastNumber;
      this.#waiting.set(number, resolve);
      this.#writer
        .sendCommand([
          'XADD',
          REQUESTS,
          '*',
          'c',
          this.#clientId,
          'n',
          String(number),
          'i',
          JSON.stringify(item),
        ])
        .catch(reject);
    });
  }

  async close(): Promise<void> {
    this.#writer.destroy();
    this.#reader.destroy();
  }

  async #readReplies(): Promise<void> {
    const key = repliesKey(this.#clientId);
    let lastId = '0';
    while (true) {
      const args = ['XREAD', 'COUNT', '64', 'BLOCK', '0', 'STREAMS', key, lastId];
      const reply = await this.#reader.sendCommand<Record<string, [id: string, fields: string[]][]>>(args);
      for (const [id, [, answers = '[]']] of reply[key] ?? []) {
        lastId = id;
        for (const [number, answer] of JSON.parse(answers) as [number, Item][]) {
          this.#waiting.get(number)?.(answer);
          this.#waiting.delete(number);
        }
      }
    }
  }
}
