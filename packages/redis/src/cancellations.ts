/** Takes items out of the queue that nobody waits for: those that are given up in one turn of the event loop together. */
import type { Clock } from 'batchwise';
import type { RedisLink } from './connection/link.js';
import { loadScript } from './connection/script.js';
import { inParts, namesOf } from './lost-items.js';
import type { Outgoing } from './outgoing.js';
import { GROUP, type QueueKeys } from './queue-keys.js';

const cancel = loadScript('cancel');

/** For how long a processor can hear that the caller of what it runs has gone. */
const TOLD_FOR_MS = 60_000;

export class Cancellations {
  readonly #link: RedisLink;
  readonly #keys: QueueKeys;
  readonly #clientId: string;
  readonly #clock: Clock;
  #waiting: Outgoing<unknown>[] = [];
  #isDue = false;
  #flushing: Promise<void> = Promise.resolve();

  constructor(link: RedisLink, keys: QueueKeys, clientId: string, clock: Clock) {
    this.#link = link;
    this.#keys = keys;
    this.#clientId = clientId;
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
    for (const part of inParts(gone)) await this.#cancel(part);
  }

  async #cancel(gone: readonly Outgoing<unknown>[]): Promise<void> {
    const args = [GROUP, this.#keys.gone, String(TOLD_FOR_MS), this.#clientId, ...namesOf(gone)];
    // Cancelling spares work; nobody waits for it. A link that is closed, or a Redis that refuses, changes nothing for anyone.
    await this.#link.run(cancel, this.#keys.requests, args).catch(() => {});
  }
}
