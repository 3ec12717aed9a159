/**
 * Reads a client's replies, as long as it waits for any. They stay in Redis until they were read, so a lost connection
 * loses nothing. After each reconnect, and when nothing came for a while, reading begins again with the first reply that is
 * there: a failover or a deleted key may have led to a stream whose ids are lower than those that were read. What is
 * read a second time is no longer awaited.
 */
import type { Codec } from './codec.js';
import { type Argument, LinkClosedError, type RedisLink, type Reply } from './connection/link.js';
import { loadScript } from './connection/script.js';
import { idAfter } from './stream-id.js';

/** How long a read waits before it is made anew: a connection that died silently is noticed then. */
export const BLOCK_MS = 5000;
const MOST_REPLIES = 128;
/** How many replies, or characters or bytes of them, are read before they are deleted: one command for all of them. */
const TRIM_REPLIES = 64;
const TRIM_SIZE = 256 * 1024;
const BEGINNING = '0-0';

const trim = loadScript('trim');

export interface ReplyOwner {
  readonly codec: Codec;
  readonly isWaiting: boolean;
  answered(number: number, result: unknown): void;
  /** It was delivered too often, never answered, and is a dead letter now. */
  died(number: number, deliveries: number, letter: string): void;
  /** No reply came for a while, though answers are awaited. */
  readNothing(): void;
  /** Reading failed in a way that will not pass. */
  readFailed(error: unknown): void;
}

export class ReplyReader {
  readonly #link: RedisLink;
  readonly #key: string;
  readonly #owner: ReplyOwner;
  #lastId = BEGINNING;
  /** The last reply with answers that was read and not deleted. */
  #lastRead: { readonly id: string; readonly token: string } | undefined = undefined;
  #readReplies = 0;
  #readSize = 0;
  #startsOver = false;
  #isReading = false;
  /** To be called when all that was there has been handed out. */
  #whenCaughtUp: (() => void)[] = [];

  constructor(link: RedisLink, key: string, owner: ReplyOwner) {
    this.#link = link;
    this.#key = key;
    this.#owner = owner;
    link.onDown(() => {
      this.#startsOver = true;
    });
  }

  /** The stream may be another one now. */
  startOver(): void {
    this.#startsOver = true;
    if (!this.#isReading) return;
    this.#link.unblock(this.#key).catch(() => {}); // then it is noticed when the read has waited long enough
  }

  /** Resolves when all replies that are in Redis now were handed out, or no answer is awaited any more. */
  caughtUp(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenCaughtUp.push(resolve);
      this.startOver();
      this.wake();
    });
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
      this.#tellCaughtUp();
    }
  }

  async #readOnce(): Promise<void> {
    if (this.#startsOver) this.#lastId = BEGINNING;
    this.#startsOver = false;
    // Until it has caught up it does not wait for replies that are not there.
    const block = this.#whenCaughtUp.length > 0 ? [] : ['BLOCK', String(BLOCK_MS)];
    const command = ['XREAD', 'COUNT', String(MOST_REPLIES), ...block, 'STREAMS', this.#key, this.#lastId];
    let reply: Reply;
    try {
      reply = await this.#link.send(this.#key, command);
    } catch (error) {
      if (error instanceof Error && error.name === 'LinkLostError') return;
      throw error;
    }
    if (this.#startsOver) return; // read again from the beginning
    const [[, entries]] = (reply ?? [[this.#key, []]]) as [[unknown, [Argument, Argument[]][]]];
    for (const [id, fields] of entries) {
      this.#lastId = String(id);
      this.#handOut(this.#lastId, fields);
    }
    if (entries.length === 0 && block.length > 0) {
      this.#startsOver = true;
      this.#owner.readNothing();
    }
    if (entries.length < MOST_REPLIES) this.#tellCaughtUp();
    if (this.#startsOver || this.#readReplies >= TRIM_REPLIES || this.#readSize >= TRIM_SIZE) this.#trim();
  }

  /** Over the link that reads, so that the next read comes after it. */
  #trim(): void {
    if (this.#lastRead === undefined) return;
    const { id, token } = this.#lastRead;
    this.#lastRead = undefined;
    this.#readReplies = 0;
    this.#readSize = 0;
    this.#link.run(trim, [this.#key], [id, token, idAfter(id, 1)]).catch(() => {}); // whoever reads hears why
  }

  #handOut(id: string, [kind, value, , token = '']: readonly Argument[]): void {
    if (value === undefined) return;
    if (String(kind) === 'a') {
      this.#lastRead = { id, token: String(token) };
      this.#readReplies += 1;
      this.#readSize += value.length;
      this.#owner.codec.unpackAnswers(value, (number, result) => this.#owner.answered(number, result));
    } else if (String(kind) === 'dead') {
      const [number, deliveries, letter = ''] = String(value).split(' ');
      this.#owner.died(Number(number), Number(deliveries), letter);
    }
  }

  #tellCaughtUp(): void {
    for (const tell of this.#whenCaughtUp.splice(0)) tell();
  }
}
