/** Items as Redis hands them out. */
import type { Argument, Reply } from './connection/link.js';
import { Delivery } from './delivery.js';
import type { Level, QueueKeys } from './queue-keys.js';

/** From a script's flat list: level, id, header, payload, delivery. */
export function itemsInList<I>(list: readonly Reply[], from: number): Delivery<I>[] {
  const items: Delivery<I>[] = [];
  for (let i = from; i < list.length; i += 5) {
    const level = Number(list[i]) as Level;
    const payload = list[i + 3] as Argument;
    items.push(new Delivery(level, String(list[i + 1]), String(list[i + 2]), payload, Number(list[i + 4])));
  }
  return items;
}

/** From the reply to XREADGROUP, of new items only. */
export function itemsInStreams<I>(reply: Reply, { requests }: QueueKeys): Delivery<I>[] {
  const items: Delivery<I>[] = [];
  for (const [stream, entries] of (reply ?? []) as [Argument, [Argument, Argument[] | null][]][]) {
    const level = (requests.indexOf(String(stream)) + 1) as Level;
    for (const [id, fields] of entries) {
      if (fields !== null) items.push(new Delivery(level, String(id), String(fields[0]), fields[1], 1));
    }
  }
  return items;
}
