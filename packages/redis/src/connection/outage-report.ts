/**
 * Reports on stderr that Redis cannot be reached, and that it can be reached again: once for each outage of a Redis,
 * however many connections of the process wait for it, and however often each is tried.
 */
import { BatchwiseError } from 'batchwise';

interface Outage {
  readonly waiting: Set<OutageReport>;
  readonly reported: Set<'unreachable' | 'refused'>;
}

const outages = new Map<string, Outage>();

export class OutageReport {
  readonly #place: string;
  readonly #isQuiet: () => boolean;

  /** Of one connection to the Redis at this place. While `isQuiet`, the program itself is told, and reports it. */
  constructor(place: string, isQuiet: () => boolean) {
    this.#place = place;
    this.#isQuiet = isQuiet;
  }

  /** An attempt to connect has failed. */
  failed(reason: Error): void {
    if (this.#isQuiet()) return;
    const outage = outages.get(this.#place) ?? { waiting: new Set(), reported: new Set() };
    outages.set(this.#place, outage);
    outage.waiting.add(this);
    const kind = reason instanceof BatchwiseError ? 'refused' : 'unreachable';
    if (outage.reported.has(kind)) return;
    outage.reported.add(kind);
    report(`${reason.message.replace(/\.$/, '')}. Retrying until it succeeds.`);
  }

  recovered(): void {
    if (this.#leave()) report(`Connected to Redis at ${this.#place} again.`);
  }

  /** The connection is not wanted any more. */
  ended(): void {
    this.#leave();
  }

  /** Whether the outage is over with it. */
  #leave(): boolean {
    const outage = outages.get(this.#place);
    if (!outage?.waiting.delete(this) || outage.waiting.size > 0) return false;
    outages.delete(this.#place);
    return true;
  }
}

function report(line: string): void {
  process.stderr.write(`batchwise: ${line}\n`);
}
