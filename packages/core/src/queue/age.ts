/**
 * How long somebody has waited, kept in a heap to find who has waited longest: for each lane its head, and
 * for itself each entry that had waited elsewhere and may be older than those before it in its lane.
 */
import type { Entry } from './entry.js';
import type { HeapNode } from './heap.js';
import type { Lane } from './lane.js';

export class Age implements HeapNode {
  heapIndex = -1;
  /** When he came, as of the last look; whoever is next in a lane came no earlier. */
  at = 0;
  readonly #lane: Lane | undefined;
  readonly #entry: Entry | undefined;

  constructor(lane: Lane | undefined, entry: Entry | undefined) {
    this.#lane = lane;
    this.#entry = entry;
    this.look();
  }

  /** Brings it up to date; returns false when nobody of it waits any more. */
  look(): boolean {
    const entry = this.#entry ?? this.#lane?.head;
    if (entry?.lane === undefined) return false;
    this.at = entry.moment.at;
    return true;
  }
}
