/**
 * Which backend gets the next batch: the one with the earliest predicted completion over the free slots. A batch waits
 * for a busy backend only if it is expected to be done earlier there. Pure: it sees candidates and the time.
 */

/** A batch in progress on a backend, of any batcher that uses it. */
export interface PlacedWork {
  readonly startedAt: number;
  /** As predicted at its start; undefined if nothing was known. */
  readonly expectedMs: number | undefined;
}

/** What the choice looks at. */
export interface Candidate {
  readonly slots: number;
  readonly freeSlots: number;
  readonly work: readonly PlacedWork[];
  /** The free slot is for a trial batch of an ejected backend. */
  readonly isTrialDue: boolean;
  /** A batch has failed there recently: until then others are preferred. */
  readonly doubtfulUntil: number;
  mean(cost: number): number | undefined;
  /** When a batch last ended well there. */
  readonly answeredAt: number;
}

export interface Choice<C> {
  readonly backend: C;
  /** Wait for a faster backend until then, at most. */
  readonly holdUntil: number | undefined;
  /** What it should take of the queue at most: the rest is completed sooner elsewhere. Infinity among equal backends. */
  readonly maxCost: number;
}

/** After so long what was learned expires: a backend that was slow once would otherwise never be used again. */
const FRESH_MS = 10_000;
/** Predictions that differ by less than a quarter are taken as equal: they are not better than that. */
const ALIKE = 1.25;
/** So much sooner an item must be done on a busy backend to be left to it: predictions are not better than that. */
const SOONER = 1.25;
/** In so many parts the queue is divided among unequal backends. */
const PARTS = 32;
/** Shortest hold: that of the timers of Node. */
const MIN_HOLD_MS = 1;

/** What the queue asks of the backends. */
export interface Demand {
  readonly queuedCost: number;
  /** The rate at which more arrives. */
  readonly costPerMs: number;
  readonly maxBatchSize: number;
  /** A backend has not started the first item. */
  readonly isRetry: boolean;
}

/** @param turn decides among equals */
export function chooseBackend<C extends Candidate>(
  candidates: readonly C[],
  { queuedCost, costPerMs, maxBatchSize, isRetry }: Demand,
  turn: number,
  now: number,
): Choice<C> | undefined {
  const [only] = candidates;
  if (only === undefined) return undefined;
  if (candidates.length === 1) return only.freeSlots > 0 ? atOnce(only) : undefined;
  const free = candidates.filter(({ freeSlots }) => freeSlots > 0);
  const trial = free.find(({ isTrialDue }) => isTrialDue);
  if (trial !== undefined) return atOnce(trial);
  const isSound = ({ doubtfulUntil }: Candidate): boolean => doubtfulUntil <= now;
  const sound = free.filter(isSound);
  const usable = sound.length > 0 ? sound : free;
  const cost = Math.min(queuedCost, maxBatchSize);
  const durations = usable.map((candidate) => durationMs(candidate, cost, now));
  const leastMs = Math.min(...durations);
  const alike = usable.filter((_, i) => (durations[i] as number) <= leastMs * ALIKE);
  const leastBusy = Math.min(...alike.map(busyShare));
  const idlest = alike.filter((candidate) => busyShare(candidate) === leastBusy);
  const backend = idlest[turn % idlest.length];
  if (backend === undefined) return undefined;
  const others = candidates.filter((candidate) => candidate !== backend && isSound(candidate));
  // The retries of a batch must not be used up by the same backend.
  if (isRetry && sound.length === 0)
    return { ...atOnce(backend), holdUntil: retryUntil(others, backend, now) };
  const servers = [backend, ...others].flatMap((candidate) => serversOf(candidate, now));
  if (leastMs === 0 || areEqual(servers, cost)) return atOnce(backend);
  // What arrives until the others are free will be in their batches, too.
  const othersFreeMs = servers
    .filter(({ freeMs }) => freeMs > 0 && freeMs < leastMs)
    .map(({ freeMs }) => freeMs);
  const comingCost = othersFreeMs.length === 0 ? 0 : costPerMs * Math.min(...othersFreeMs);
  divide(servers, queuedCost + comingCost, maxBatchSize);
  const own = servers.find((server) => server.candidate === backend) as Server;
  const until = Math.min(...servers.filter(({ load }) => load > 0).map(({ freeMs }) => freeMs));
  if (own.load === 0) return { ...atOnce(backend), holdUntil: now + Math.max(MIN_HOLD_MS, until) };
  return {
    backend,
    holdUntil: undefined,
    maxCost: own.load >= maxBatchSize ? Number.POSITIVE_INFINITY : own.load,
  };
}

function atOnce<C>(backend: C): Choice<C> {
  return { backend, holdUntil: undefined, maxCost: Number.POSITIVE_INFINITY };
}

/** A slot that takes a part of what is queued. */
interface Server {
  readonly candidate: Candidate;
  /** When it is free. */
  readonly freeMs: number;
  /** What it takes of the queue in its next batch. */
  load: number;
  /** When the batch that is being filled starts, and what it has so far. */
  startMs: number;
  filled: number;
  /** How much longer all items together take if the next part goes there. */
  addedMs: number;
}

/** A slot of each state is enough: of several that are free the next decisions see the others. */
function serversOf(candidate: Candidate, now: number): Server[] {
  const { work, freeSlots, slots } = candidate;
  const free = Array.from({ length: Math.min(freeSlots, PARTS) }, () => 0);
  const busy = freeSlots >= slots ? [] : work.map((each) => freeAfterMs(each, now));
  return [...free, ...busy]
    .slice(0, PARTS)
    .map((freeMs) => ({ candidate, freeMs, load: 0, startMs: freeMs, filled: 0, addedMs: 0 }));
}

function areEqual(servers: readonly Server[], cost: number): boolean {
  const durations = servers.map(({ candidate }) => candidate.mean(cost));
  const known = durations.filter((duration) => duration !== undefined);
  return known.length < durations.length || Math.max(...known) <= ALIKE * Math.min(...known);
}

/** Gives each part of the queue to the slot where it delays all items together least. */
function divide(servers: readonly Server[], queuedCost: number, maxBatchSize: number): void {
  const part = Math.min(maxBatchSize, Math.max(1, queuedCost / PARTS));
  for (const server of servers) server.addedMs = addedMs(server, part, maxBatchSize);
  for (let left = queuedCost; left > 0; left -= part) {
    let best = servers[0] as Server;
    for (const server of servers) if (server.addedMs < best.addedMs) best = server;
    const { candidate, filled, startMs } = best;
    if (filled + part > maxBatchSize) {
      best.startMs = startMs + (candidate.mean(maxBatchSize) as number);
      best.filled = part;
    } else {
      best.filled = filled + part;
    }
    best.load += part;
    best.addedMs = addedMs(best, part, maxBatchSize);
  }
}

function addedMs({ candidate, startMs, filled, freeMs }: Server, part: number, maxBatchSize: number): number {
  const predict = (cost: number): number => candidate.mean(cost) as number;
  const sooner = freeMs > 0 ? SOONER : 1;
  if (filled + part > maxBatchSize) return sooner * part * (startMs + predict(maxBatchSize) + predict(part));
  const before = filled === 0 ? 0 : filled * (startMs + predict(filled));
  return sooner * ((filled + part) * (startMs + predict(filled + part)) - before);
}

/** 0 when nothing is known that has not expired, so that one batch measures it; while that runs, it is not counted on. */
function durationMs(candidate: Candidate, cost: number, now: number): number {
  const expectedMs = candidate.mean(cost);
  const isKnown = expectedMs !== undefined && now - candidate.answeredAt <= FRESH_MS;
  if (!isKnown && candidate.work.length === 0) return 0;
  return expectedMs ?? Number.POSITIVE_INFINITY;
}

function busyShare({ slots, work }: Candidate): number {
  return slots === Number.POSITIVE_INFINITY ? work.length / Number.MAX_SAFE_INTEGER : work.length / slots;
}

/** When another backend is expected to be free, as long as the failure of this one is recent. */
function retryUntil(
  others: readonly Candidate[],
  { doubtfulUntil }: Candidate,
  now: number,
): number | undefined {
  const freeMs = Math.min(...others.flatMap(({ work }) => work.map((each) => freeAfterMs(each, now))));
  return freeMs === Number.POSITIVE_INFINITY
    ? undefined
    : Math.min(now + Math.max(MIN_HOLD_MS, freeMs), doubtfulUntil);
}

/** Work that is overdue is expected to take as long again as it is overdue: it may hang. */
function freeAfterMs({ startedAt, expectedMs }: PlacedWork, now: number): number {
  return expectedMs === undefined ? Number.POSITIVE_INFINITY : Math.abs(startedAt + expectedMs - now);
}
