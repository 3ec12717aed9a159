/**
 * Finds items that Redis has lost, so that their callers do not wait for ever: after each reconnect (a failover to a replica
 * that lagged behind, a restart from an older snapshot), with each heartbeat, and when no reply came for a while (an
 * evicted or deleted key). An answer is written in the step that ends its item: an item is lost when it is not in the
 * queue, or no processor will be given it, and all replies that are there afterwards have been read.
 */
import type { RedisLink } from './connection/link.js';
import { loadScript } from './connection/script.js';
import type { Outgoing } from './outgoing.js';
import { GROUP, type QueueKeys } from './queue-keys.js';

export interface LostItemsOwner {
  readonly keys: QueueKeys;
  readonly link: RedisLink;
  readonly clientId: string;
  /** Resolves when all replies that are in Redis now were handed out. */
  caughtUp(): Promise<void>;
  /** Redis has neither these items nor their answers. */
  lost(items: readonly Outgoing<unknown>[]): void;
}

/** How many items one script looks up, and how many characters or bytes: others wait for Redis meanwhile. */
const MOST_ITEMS = 1000;
const MOST_SIZE = 1024 * 1024;

/** How many scripts a regular check takes at most: to look an item up costs Redis as much as to read it. */
const MOST_PARTS = 16;

const missing = loadScript('missing');

export class LostItems {
  readonly #owner: LostItemsOwner;
  #reconnects = 0;
  #isChecking = false;
  /** The number of the last item that the last check has looked up; 0 when it has come to the end. */
  #checkedUpTo = 0;

  constructor(owner: LostItemsOwner) {
    this.#owner = owner;
  }

  /** What was found out before is about another connection, and perhaps another node. */
  reconnected(): void {
    this.#reconnects += 1;
  }

  /** Of some of these, in turn, which come in the order of their numbers; of all, when one of those is lost. */
  async check(suspects: readonly Outgoing<unknown>[]): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      const left = suspects.filter(({ number }) => number > this.#checkedUpTo);
      const next = left.length > 0 ? left : suspects;
      const some = [...inParts(next)].slice(0, MOST_PARTS).flat();
      this.#checkedUpTo = some.length < next.length ? (some.at(-1)?.number ?? 0) : 0;
      if (await this.find(some)) await this.find(suspects);
    } finally {
      this.#isChecking = false;
    }
  }

  /**
   * Of these; returns whether there are any. Those whose submission is not acknowledged are on their way, and are left
   * out.
   */
  async find(suspects: readonly Outgoing<unknown>[]): Promise<boolean> {
    const { keys, link, clientId } = this.#owner;
    const reconnects = this.#reconnects;
    const gone: Outgoing<unknown>[] = [];
    for (const part of inParts(suspects.filter(({ id }) => id !== undefined))) {
      const some = part.filter(({ isDone }) => !isDone);
      if (some.length === 0) continue;
      const isMissing = await link.run(missing, keys.requests, [GROUP, clientId, ...namesOf(some)]);
      if (reconnects !== this.#reconnects) return false; // after a reconnect all are looked for anew
      gone.push(...some.filter((_, i) => (isMissing as readonly number[])[i] === 1));
    }
    if (gone.length === 0) return false;
    await this.#owner.caughtUp();
    const lost = gone.filter(({ isDone }) => !isDone);
    if (lost.length === 0 || reconnects !== this.#reconnects) return false;
    this.#owner.lost(lost);
    return true;
  }
}

/** What one script is asked to look up. */
export function* inParts(items: readonly Outgoing<unknown>[]): Generator<readonly Outgoing<unknown>[]> {
  for (let from = 0; from < items.length; ) {
    let to = from;
    for (let size = 0; to < items.length && to - from < MOST_ITEMS && size < MOST_SIZE; to += 1) {
      size += items[to]?.size ?? 0;
    }
    yield items.slice(from, to);
    from = to;
  }
}

/** As scripts want them: level, id and number of each. */
export function namesOf(items: readonly Outgoing<unknown>[]): string[] {
  return items.flatMap(({ level, id, number }) => [String(level), id as string, String(number)]);
}
