/** Hears, as long as a processor holds anything, which of it nobody waits for any more. */
import { LinkClosedError, LinkLostError, type RedisLink, type Reply } from './connection/link.js';
import { BLOCK_MS } from './reply-reader.js';

export interface CancelOwner {
  readonly isHolding: boolean;
  /** These (level:id). */
  cancelled(keys: readonly string[]): void;
  /** Cancelling spares work, nothing hangs on it: this is for the log. */
  cancelFailed(error: unknown): void;
}

export class CancelReader {
  readonly #link: RedisLink;
  readonly #key: string;
  readonly #owner: CancelOwner;
  #lastId = '0-0';
  #isReading = false;

  constructor(link: RedisLink, key: string, owner: CancelOwner) {
    this.#link = link;
    this.#key = key;
    this.#owner = owner;
  }

  /** To be called when something is held. */
  wake(): void {
    if (!this.#isReading) void this.#read();
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      while (this.#owner.isHolding) await this.#readOnce();
    } catch (error) {
      if (!(error instanceof LinkClosedError)) this.#owner.cancelFailed(error);
    } finally {
      this.#isReading = false;
    }
  }

  async #readOnce(): Promise<void> {
    const command = ['XREAD', 'BLOCK', String(BLOCK_MS), 'STREAMS', this.#key, this.#lastId];
    let reply: Reply;
    try {
      reply = await this.#link.send(this.#key, command);
    } catch (error) {
      if (!(error instanceof LinkLostError)) throw error;
      reply = null;
    }
    if (reply === null) {
      // After a failover ids may be lower than the last one. What is heard a second time is no longer held.
      this.#lastId = '0-0';
      return;
    }
    const [[, entries]] = reply as [[string, [string, string[]][]]];
    for (const [id, [, items = '']] of entries) {
      this.#lastId = id;
      this.#owner.cancelled(items.trim().split(' '));
    }
  }
}
