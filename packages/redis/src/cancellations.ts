/** Takes items out of the queue that nobody waits for: those that are given up in one turn of the event loop together. */
import type { Clock } from 'batchwise';
import type { RedisLink } from './connection/link.js';
import { loadScript } from './connection/script.js';
import type { Outgoing } from './outgoing.js';
import { GROUP, LEVELS, type QueueKeys } from './queue-keys.js';

const cancel = loadScript('cancel');

/** For how long a processor can hear that the caller of what it runs has gone. */
const TOLD_FOR_MS = 60_000;
/** How many go together: others wait for Redis meanwhile. */
const MOST_IDS = 1000;

export class Cancellations {
  readonly #link: RedisLink;
  readonly #keys: QueueKeys;
  readonly #clock: Clock;
  #waiting: Outgoing<unknown>[] = [];
  #isDue = false;
  #flushing: Promise<void> = Promise.resolve();

  constructor(link: RedisLink, keys: QueueKeys, clock: Clock) {
    this.#link = link;
    this.#keys = keys;
    this.#clock = clock;
  }

  add(outgoing: Outgoing<unknown>): void {
    this.#waiting.push(outgoing);
    if (this.#isDue) return;
    this.#isDue = true;
    this.#clock.defer(() => {
      this.#isDue = false;
      void this.flush();
    });
  }

  /** Resolves when all that were added so far are out of the queue, or nobody can be told. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.then(() => this.#flush());
    return this.#flushing;
  }

  async #flush(): Promise<void> {
    const gone = this.#waiting;
    this.#waiting = [];
    for (let at = 0; at < gone.length; at += MOST_IDS) await this.#cancel(gone.slice(at, at + MOST_IDS));
  }

  async #cancel(gone: readonly Outgoing<unknown>[]): Promise<void> {
    const args = [GROUP, this.#keys.gone, String(TOLD_FOR_MS)];
    for (const level of LEVELS) {
      const ids = gone.filter((one) => one.level === level).map(({ id }) => id as string);
      args.push(String(ids.length));
      for (const id of ids) args.push(id);
    }
    // Cancelling spares work; nobody waits for it. A link that is closed, or a Redis that refuses, changes nothing for anyone.
    await this.#link.run(cancel, this.#keys.requests, args).catch(() => {});
  }
}
