/** One item in a processor's hands: what to do, whose it is, and the delivery under which it is held. */
import type { Ticket } from 'batchwise';
import { LEVELS, type Level } from './queue-keys.js';
import { compareIds } from './stream-id.js';

export class Delivery<I> {
  readonly level: Level;
  readonly id: string;
  /** How often it has been delivered, this time included. */
  readonly count: number;
  readonly clientId: string;
  readonly number: number;
  /** From its id on, in ms; 0 for none. */
  readonly timeoutMs: number;
  item: I | undefined = undefined;
  /** What was delivered before and never answered runs apart: with those of the same suspicion, or alone. */
  suspicion: unknown = undefined;
  /** Fetched and not started. */
  isQueued = false;
  ticket: Ticket | undefined = undefined;

  constructor(level: Level, id: string, header: string, count: number) {
    const [clientId = '', number, timeoutMs] = header.split(' ');
    this.level = level;
    this.id = id;
    this.count = count;
    this.clientId = clientId;
    this.number = Number(number);
    this.timeoutMs = Number(timeoutMs);
  }

  get key(): string {
    return heldKey(this.level, this.id);
  }
}

export function heldKey(level: number, id: string): string {
  return `${level}:${id}`;
}

/** As scripts want them: for each level how many, then what is said of each, in the order of their ids. */
export function byLevel<I>(
  deliveries: readonly Delivery<I>[],
  tell: (delivery: Delivery<I>) => readonly string[],
): string[] {
  const args: string[] = [];
  for (const level of LEVELS) {
    const ofLevel = deliveries.filter((one) => one.level === level).sort((a, b) => compareIds(a.id, b.id));
    args.push(String(ofLevel.length));
    for (const delivery of ofLevel) args.push(...tell(delivery));
  }
  return args;
}
