/** Takes items out of the queue that nobody waits for: all that are given up in one turn of the event loop in one step. */
import type { Clock } from 'batchwise';
import type { RedisLink } from './connection/link.js';
import { loadScript } from './connection/script.js';
import type { Outgoing } from './outgoing.js';
import { GROUP, LEVELS, type QueueKeys } from './queue-keys.js';

const cancel = loadScript('cancel');

/** For how long a processor can hear that the caller of what it runs has gone. */
const TOLD_FOR_MS = 60_000;

export class Cancellations {
  readonly #link: RedisLink;
  readonly #keys: QueueKeys;
  readonly #clock: Clock;
  #waiting: Outgoing<unknown>[] = [];
  #isDue = false;

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

  async flush(): Promise<void> {
    const gone = this.#waiting;
    if (gone.length === 0) return;
    this.#waiting = [];
    const args = [GROUP, this.#keys.gone, String(TOLD_FOR_MS)];
    for (const level of LEVELS) {
      const ids = gone.filter((one) => one.level === level).map(({ id }) => id as string);
      args.push(String(ids.length), ...ids);
    }
    // Cancelling spares work; nobody waits for it. A link that is closed, or a Redis that refuses, changes nothing for anyone.
    await this.#link.run(cancel, this.#keys.requests, args).catch(() => {});
  }
}
