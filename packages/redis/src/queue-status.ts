/** How a queue stands, read from what Redis says of it. */
import type { Reply } from './connection/link.js';
import { DEFAULT_LEASE_MS } from './redis-options.js';
import { timeOf } from './stream-id.js';

/** As a queue's streams are called: above, at and below priority 0. */
export const LEVEL_NAMES = ['high', 'normal', 'low'] as const;
export type LevelName = (typeof LEVEL_NAMES)[number];

export interface LevelStatus {
  /** Items that are not settled: waiting, or held by a processor. */
  readonly depth: number;
  /** Items that no processor has fetched. */
  readonly waiting: number;
  /** Items that a processor holds: running or queued there. */
  readonly pending: number;
  /** Age of the oldest item that no processor has fetched; 0 without one. */
  readonly lagMs: number;
  /** Age of the oldest item; 0 without one. */
  readonly oldestAgeMs: number;
}

export interface QueueStatus extends LevelStatus {
  readonly queue: string;
  /** Items taken over from processors whose lease expired, so far. */
  readonly redelivered: number;
  /** Items that became dead letters, so far. */
  readonly died: number;
  /** Dead letters that are kept until they are retried or dropped. */
  readonly deadLetters: number;
  /** Throughput of all processors together, in items per second; 0 if unknown. */
  readonly ratePerSecond: number;
  readonly processors: readonly ProcessorStatus[];
  readonly perLevel: Readonly<Record<LevelName, LevelStatus>>;
}

/** The last report of a processor. */
export interface ProcessorStatus {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** The processor fetches no items. */
  readonly isPaused: boolean;
  /** Throughput in items per second; 0 before the first batch and while paused. */
  readonly ratePerSecond: number;
  readonly running: number;
  /** Items fetched and not running yet. */
  readonly queued: number;
  /** Infinity: no limit. */
  readonly maxBatchSize: number;
  /** Time since the last report. A processor that crashed is listed until another one detects it. */
  readonly seenMsAgo: number;
  /** Its lease: the processor is alive if it was seen within this time. */
  readonly leaseMs: number;
}

/** What stands before the levels in the script's reply, and how much there is of each. */
const HEAD = 5;
const PER_LEVEL = 4;

export function statusFrom(queue: string, reply: readonly Reply[]): QueueStatus {
  const now = Number(reply[0]);
  const levels = LEVEL_NAMES.map((_, i) => levelFrom(reply, HEAD + PER_LEVEL * i, now));
  const [high, normal, low] = levels as [LevelStatus, LevelStatus, LevelStatus];
  const sum = (of: (level: LevelStatus) => number) => of(high) + of(normal) + of(low);
  const most = (of: (level: LevelStatus) => number) => Math.max(of(high), of(normal), of(low));
  return {
    queue,
    depth: sum(({ depth }) => depth),
    waiting: sum(({ waiting }) => waiting),
    pending: sum(({ pending }) => pending),
    lagMs: most(({ lagMs }) => lagMs),
    oldestAgeMs: most(({ oldestAgeMs }) => oldestAgeMs),
    redelivered: Number(reply[2]),
    died: Number(reply[3]),
    deadLetters: Number(reply[4]),
    ratePerSecond: Number(reply[1]),
    processors: processorsFrom(reply.slice(HEAD + PER_LEVEL * LEVEL_NAMES.length), now),
    perLevel: { high, normal, low },
  };
}

function levelFrom(reply: readonly Reply[], at: number, now: number): LevelStatus {
  const depth = Number(reply[at]);
  const pending = Number(reply[at + 1]);
  const ageOf = (id: string) => (id === '' ? 0 : Math.max(0, now - timeOf(id)));
  return {
    depth,
    waiting: depth - pending,
    pending,
    lagMs: ageOf(String(reply[at + 3])),
    oldestAgeMs: ageOf(String(reply[at + 2])),
  };
}

function processorsFrom(list: readonly Reply[], now: number): ProcessorStatus[] {
  const processors: ProcessorStatus[] = [];
  for (let i = 0; i + 1 < list.length; i += 2) {
    const [, seen, rate, said] = /^(\d+) (\S+) (.*)$/s.exec(String(list[i + 1])) ?? [];
    if (seen === '0') continue; // closed: only what it gave back is still its own
    const portrait = portraitIn(said);
    processors.push({
      id: String(list[i]),
      host: String(portrait.host ?? ''),
      pid: Number(portrait.pid ?? 0),
      isPaused: portrait.isPaused === true,
      ratePerSecond: Number(rate ?? 0),
      running: Number(portrait.running ?? 0),
      queued: Number(portrait.queued ?? 0),
      // JSON has no Infinity: it says null.
      maxBatchSize: Number(portrait.maxBatchSize ?? Number.POSITIVE_INFINITY),
      seenMsAgo: Math.max(0, now - Number(seen ?? 0)),
      leaseMs: Number(portrait.leaseMs ?? DEFAULT_LEASE_MS),
    });
  }
  return processors.sort((a, b) => b.ratePerSecond - a.ratePerSecond || (a.id < b.id ? -1 : 1));
}

/** A processor of another version may say other things. */
function portraitIn(said: string | undefined): Readonly<Record<string, unknown>> {
  try {
    return (JSON.parse(said ?? '') ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}
