/** The keys of a queue. All have the queue's name as hash tag: in a cluster they are on one node, for scripts to touch together. */
import { BatchwiseError } from 'batchwise';

/** Streams of requests, by priority: above, at and below 0. */
export const LEVELS = [1, 2, 3] as const;
export type Level = (typeof LEVELS)[number];

export interface QueueKeys {
  readonly queue: string;
  readonly requests: readonly [high: string, normal: string, low: string];
  readonly processors: string;
  readonly rate: string;
  readonly dead: string;
  readonly totals: string;
  /** What the keys of clients and of their replies begin with. */
  readonly clients: string;
  readonly replies: string;
  /** What the keys begin with where processors hear who has gone. */
  readonly gone: string;
}

export const GROUP = 'processors';

export function queueKeys(queue: string): QueueKeys {
  const prefix = `batchwise:{${validQueue(queue)}}:`;
  return {
    queue,
    requests: [`${prefix}requests:high`, `${prefix}requests:normal`, `${prefix}requests:low`],
    processors: `${prefix}processors`,
    rate: `${prefix}rate`,
    dead: `${prefix}dead`,
    totals: `${prefix}totals`,
    clients: `${prefix}client:`,
    replies: `${prefix}replies:`,
    gone: `${prefix}gone:`,
  };
}

export function levelOf(priority: number): Level {
  return priority > 0 ? 1 : priority === 0 ? 2 : 3;
}

function validQueue(queue: unknown): string {
  if (typeof queue === 'string' && /^[^\s{}]{1,200}$/.test(queue)) return queue;
  throw new BatchwiseError(
    'INVALID_OPTION',
    `queue: expected a name of 1 to 200 characters without spaces and braces, got ${JSON.stringify(queue)}.`,
  );
}
