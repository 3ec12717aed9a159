/**
 * Reads a client's replies, as long as it waits for any. They stay in Redis until they were read, so a lost connection
 * loses nothing: reading goes on where it was.
 */
import type { Codec } from './codec.js';
import { type Argument, LinkClosedError, type RedisLink, type Reply } from './connection/link.js';
import { idAfter } from './stream-id.js';

/** How long a read waits before it is made anew: a connection that died silently is noticed then. */
export const BLOCK_MS = 5000;
const MOST_REPLIES = 128;

export interface ReplyOwner {
  readonly codec: Codec;
  readonly isWaiting: boolean;
  answered(number: number, result: unknown): void;
  /** It was delivered too often, never answered, and is a dead letter now. */
  died(number: number, deliveries: number, letter: string): void;
  /** Reading failed in a way that will not pass. */
  readFailed(error: unknown): void;
}

export class ReplyReader {
  readonly #link: RedisLink;
  readonly #key: string;
  readonly #owner: ReplyOwner;
  #lastId = '0-0';
  #deletedUpTo = '0-0';
  #isReading = false;

  constructor(link: RedisLink, key: string, owner: ReplyOwner) {
    this.#link = link;
    this.#key = key;
    this.#owner = owner;
  }

  /** What was read since this was last asked can be deleted: the first id that was not read yet; '' when nothing was. */
  takeReadUpTo(): string {
    if (this.#lastId === this.#deletedUpTo) return '';
    this.#deletedUpTo = this.#lastId;
    return idAfter(this.#lastId, 1);
  }

  /** The stream is another one now, and its ids need not come after those of the old: what is read again is not awaited. */
  startOver(): void {
    if (this.#lastId === '0-0') return;
    this.#lastId = '0-0';
    this.#deletedUpTo = '0-0';
    this.#link.unblock(this.#key).catch(() => {}); // then it is noticed when the read has waited long enough
  }

  /** To be called when an answer is expected. */
  wake(): void {
    if (!this.#isReading) void this.#read();
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      while (this.#owner.isWaiting) await this.#readOnce();
    } catch (error) {
      if (!(error instanceof LinkClosedError)) this.#owner.readFailed(error);
    } finally {
      this.#isReading = false;
    }
  }

  async #readOnce(): Promise<void> {
    const from = this.#lastId;
    const command = [
      ...['XREAD', 'COUNT', String(MOST_REPLIES), 'BLOCK', String(BLOCK_MS)],
      ...['STREAMS', this.#key, from],
    ];
    let reply: Reply;
    try {
      reply = await this.#link.send(this.#key, command);
    } catch (error) {
      if (error instanceof Error && error.name === 'LinkLostError') return; // reads on where it was
      throw error;
    }
    if (reply === null || this.#lastId !== from) return;
    const [[, entries]] = reply as [[unknown, [Argument, Argument[]][]]];
    for (const [id, fields] of entries) {
      this.#lastId = String(id);
      this.#handOut(fields);
    }
  }

  #handOut([kind, value]: readonly Argument[]): void {
    if (value === undefined) return;
    if (String(kind) === 'a') {
      this.#owner.codec.unpackAnswers(value, (number, result) => this.#owner.answered(number, result));
    } else if (String(kind) === 'dead') {
      const [number, deliveries, letter = ''] = String(value).split(' ');
      this.#owner.died(Number(number), Number(deliveries), letter);
    }
  }
}
