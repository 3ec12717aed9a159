/** One item in a processor's hands: what to do, whose it is, and the delivery under which it is held. */
import type { Sink, Ticket } from 'batchwise';
import type { Argument } from './connection/link.js';
import { LEVELS, type Level } from './queue-keys.js';
import { compareIds, timeOf } from './stream-id.js';

/** Who is told how it ended. */
export interface DeliveryOwner<I> {
  ended(delivery: Delivery<I>, result: unknown, error: Error | undefined): void;
}

/** Its own sink, too: there are many of these a second, and each object less is worth it. */
export class Delivery<I> implements Sink<unknown> {
  readonly level: Level;
  readonly id: string;
  /** How often it has been delivered, this time included. */
  readonly count: number;
  readonly clientId: string;
  readonly number: number;
  /** When it came, in Redis' time. */
  readonly cameAt: number;
  /** From then on; 0 for none. */
  readonly timeoutMs: number;
  payload: Argument | undefined;
  item: I | undefined = undefined;
  owner: DeliveryOwner<I> | undefined = undefined;
  /** What was delivered before and never answered runs apart: with those of the same suspicion, or alone. */
  suspicion: unknown = undefined;
  /** Under a lease of this processor's. */
  isHeld = false;
  /** Fetched and not started. */
  isQueued = false;
  /** Its answer is on its way, and hears itself when it comes too late. */
  isSettled = false;
  ticket: Ticket | undefined = undefined;
  /** The call of the handler that it is in: how many of its items have not ended yet. */
  call: { unsettled: number } | undefined = undefined;
  /** Called when it is settled. */
  onSettled: (() => void) | undefined = undefined;

  constructor(level: Level, id: string, header: string, payload: Argument | undefined, count: number) {
    const first = header.indexOf(' ');
    const second = header.indexOf(' ', first + 1);
    const last = header.lastIndexOf(' ');
    this.level = level;
    this.id = id;
    this.payload = payload;
    this.count = count;
    this.clientId = header.slice(0, Math.max(0, first));
    this.number = Number(header.slice(first + 1, second));
    // The header says it where the id does not: see submit.lua.
    this.cameAt = (last > second && Number(header.slice(second + 1, last))) || timeOf(id);
    this.timeoutMs = Number(header.slice(last + 1)) || 0;
  }

  /** What scripts call it. */
  get key(): string {
    return `${this.level}:${this.id}`;
  }

  resolve(result: unknown): void {
    this.owner?.ended(this, result, undefined);
  }

  reject(error: Error): void {
    this.owner?.ended(this, undefined, error);
  }
}

export function tellId<I>({ id }: Delivery<I>, args: string[]): void {
  args.push(id);
}

export function tellDelivery<I>({ id, count }: Delivery<I>, args: string[]): void {
  args.push(id, String(count));
}

/** As scripts want them: for each level how many, then what is said of each, in the order of their ids. */
export function byLevel<I>(
  deliveries: readonly Delivery<I>[],
  tell: (delivery: Delivery<I>, args: string[]) => void,
): string[] {
  const args: string[] = [];
  for (const level of LEVELS) {
    const ofLevel = deliveries.filter((one) => one.level === level);
    if (ofLevel.length > 1) ofLevel.sort((a, b) => compareIds(a.id, b.id));
    args.push(String(ofLevel.length));
    for (const delivery of ofLevel) tell(delivery, args);
  }
  return args;
}
