/** Items as Redis hands them out. */
import type { Argument, Reply } from './connection/link.js';
import type { Level, QueueKeys } from './queue-keys.js';

export interface FetchedItem {
  readonly level: Level;
  readonly id: string;
  readonly header: string;
  readonly payload: Argument;
  /** How often it has been delivered, this time included. */
  readonly count: number;
}

/** From a script's flat list: level, id, header, payload, delivery. */
export function itemsInList(list: readonly Reply[], from: number): FetchedItem[] {
  const items: FetchedItem[] = [];
  for (let i = from; i < list.length; i += 5) {
    items.push({
      level: Number(list[i]) as Level,
      id: String(list[i + 1]),
      header: String(list[i + 2]),
      payload: list[i + 3] as Argument,
      count: Number(list[i + 4]),
    });
  }
  return items;
}

/** From the reply to XREADGROUP, of new items only. */
export function itemsInStreams(reply: Reply, { requests }: QueueKeys): FetchedItem[] {
  if (reply === null) return [];
  return (reply as [Argument, [Argument, Argument[] | null][]][]).flatMap(([stream, entries]) => {
    const level = (requests.indexOf(String(stream)) + 1) as Level;
    return entries.flatMap(([id, fields]) =>
      fields === null
        ? []
        : { level, id: String(id), header: String(fields[0]), payload: fields[1] as Argument, count: 1 },
    );
  });
}
