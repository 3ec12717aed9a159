/** An item that was delivered again and again and never answered: each time its processor ended or was cut off. */
import { codecFor, type PayloadKind } from './codec.js';
import type { Argument, Reply } from './connection/link.js';
import { Delivery } from './delivery.js';
import type { Level } from './queue-keys.js';
import { LEVEL_NAMES, type LevelName } from './queue-status.js';
import { timeOf } from './stream-id.js';

export interface DeadLetter {
  /** The id for `retry` and `drop`. */
  readonly id: string;
  readonly diedAt: Date;
  readonly submittedAt: Date;
  /** Number of deliveries. */
  readonly deliveries: number;
  readonly priority: LevelName;
  /** The client that submitted the item, and its number there. */
  readonly client: string;
  readonly number: number;
  /** The id of the item in the queue. */
  readonly originalId: string;
  /** The item as submitted; bytes if it was sent as bytes or cannot be decoded. */
  readonly payload: unknown;
}

/** From the reply to XRANGE, in bytes. */
export function lettersFrom(reply: Reply): DeadLetter[] {
  return (reply as readonly [Argument, readonly Argument[]][]).map(([id, fields]) =>
    letterFrom(String(id), fields),
  );
}

function letterFrom(id: string, [header, payload, ...rest]: readonly Argument[]): DeadLetter {
  const said = new Map<string, string>();
  for (let i = 0; i + 1 < rest.length; i += 2) said.set(String(rest[i]), String(rest[i + 1]));
  const originalId = said.get('id') ?? id;
  const level = Number(said.get('level')) as Level;
  const deliveries = Number(said.get('deliveries'));
  const { clientId, number } = new Delivery(level, originalId, String(header), undefined, deliveries);
  return {
    id,
    diedAt: new Date(timeOf(id)),
    submittedAt: new Date(timeOf(originalId)),
    deliveries,
    priority: LEVEL_NAMES[level - 1] ?? 'normal',
    client: clientId,
    number,
    originalId,
    payload: decoded(clientId, payload as Buffer),
  };
}

/** A client's id begins with how it sends its items. */
function decoded(clientId: string, payload: Buffer): unknown {
  const kind = clientId.slice(0, clientId.indexOf('-')) as PayloadKind;
  try {
    const codec = codecFor(kind);
    return codec.decode(codec.isText ? payload.toString() : payload);
  } catch {
    return payload;
  }
}
