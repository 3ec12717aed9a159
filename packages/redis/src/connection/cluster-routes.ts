/**
 * The nodes of a cluster, each found by a key. A link has one connection for each slot that it is used for: all keys
 * of a queue are in one, and a link is for one queue, so that is one connection.
 */
import { Informants } from './informants.js';
import { keySlot } from './key-slot.js';
import { Line, type LineEvents } from './line.js';
import type { Reply } from './link.js';
import type { Address, NodeOptions } from './node-connection.js';
import type { Routes } from './routes.js';

export class ClusterRoutes implements Routes {
  readonly #lines = new Map<number, Line>();
  readonly #informants: Informants;
  readonly #node: NodeOptions;
  readonly #events: LineEvents;
  /** Where MOVED said that a slot is: good for one attempt, then the cluster is asked. */
  readonly #hints = new Map<number, Address>();

  constructor(seeds: readonly Address[], node: NodeOptions, events: LineEvents) {
    this.#informants = new Informants(seeds, node);
    this.#node = node;
    this.#events = events;
  }

  get isUp(): boolean {
    for (const line of this.#lines.values()) if (line.connection === undefined) return false;
    return true;
  }

  lineFor(key: string): Line {
    const slot = keySlot(key);
    let line = this.#lines.get(slot);
    if (line === undefined) {
      line = new Line((signal) => this.#locate(slot, signal), this.#node, this.#events);
      this.#lines.set(slot, line);
    }
    return line;
  }

  moved(key: string, to: Address): void {
    this.#hints.set(keySlot(key), to);
  }

  destroy(): void {
    for (const line of this.#lines.values()) line.destroy();
  }

  async #locate(slot: number, signal: AbortSignal): Promise<Address> {
    const hint = this.#hints.get(slot);
    this.#hints.delete(slot);
    if (hint !== undefined) return hint;

    const owner = await this.#informants.ask(
      ['CLUSTER', 'SLOTS'],
      (reply, from) => {
        const ranges = rangesIn(reply, from);
        this.#informants.alsoAsk(ranges.map(({ master }) => master));
        return ranges.find(({ first, last }) => first <= slot && slot <= last)?.master;
      },
      signal,
    );
    if (owner === undefined) throw new Error(`no node of the cluster serves slot ${slot}`);
    return owner;
  }
}

interface SlotRange {
  readonly first: number;
  readonly last: number;
  readonly master: Address;
}

/** Each is `[first, last, [host, port, id, …], …replicas]`; a node that does not know its own host names none. */
function rangesIn(reply: Reply, from: Address): SlotRange[] {
  return (reply as readonly [number, number, readonly [string | null, number]][]).map(
    ([first, last, [host, port]]) => ({
      first,
      last,
      master: { host: host === null || host === '' || host === '?' ? from.host : host, port },
    }),
  );
}
