/**
 * Chooses the backend for the next batch: the earliest predicted completion over the free slots. A batch is held for a
 * busy backend only if its predicted completion is earlier there. Pure: it sees candidates and the time.
 */

/** A batch in progress on a backend, of any batcher that uses it. */
export interface PlacedWork {
  readonly cost: number;
  readonly startedAt: number;
  /** As predicted at its start; undefined if nothing was known. */
  readonly expectedMs: number | undefined;
}

/** A backend as the choice sees it. */
export interface Candidate {
  readonly slots: number;
  readonly freeSlots: number;
  readonly work: readonly PlacedWork[];
  /** The free slot is for a trial batch of an ejected backend. */
  readonly isTrialDue: boolean;
  /** A batch has failed there recently: until then other backends are preferred. */
  readonly doubtfulUntil: number;
  mean(cost: number): number | undefined;
  /** When a batch last succeeded there. */
  readonly answeredAt: number;
}

export interface Choice<C> {
  readonly backend: C;
  /** Hold the batch for a faster backend, at most until then. */
  readonly holdUntil: number | undefined;
  /** The largest cost it should take: the rest of the queue completes sooner elsewhere. Infinity among equal backends. */
  readonly maxCost: number;
}

/** What was learned expires after this time: a backend that was slow once would otherwise never be used again. */
const BACKEND_FRESH_MS = 10_000;
/** Predictions that differ by less than this factor count as equal, because they are not more accurate. */
const EQUAL_PREDICTIONS_FACTOR = 1.25;
/** The number of parts into which the queue is divided among unequal backends, and the batches of each slot that count. */
const PARTS = 32;
/** Shortest hold: the timer resolution of Node. */
const MIN_HOLD_MS = 1;

/** The queue as the choice sees it. */
export interface Demand {
  readonly queuedCost: number;
  /** The arrival rate, in cost. */
  readonly costPerMs: number;
  readonly maxBatchSize: number;
  /** A backend has not started the first item. */
  readonly isRetry: boolean;
}

/** Among equal backends, `turn` decides. */
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
  const alike = usable.filter((_, i) => (durations[i] as number) <= leastMs * EQUAL_PREDICTIONS_FACTOR);
  const leastBusy = Math.min(...alike.map(busyShare));
  const idlest = alike.filter((candidate) => busyShare(candidate) === leastBusy);
  const backend = idlest[turn % idlest.length];
  if (backend === undefined) return undefined;
  const others = candidates.filter((candidate) => candidate !== backend && isSound(candidate));
  // The retries of an item must not be used up by one backend.
  if (isRetry && sound.length === 0)
    return { ...atOnce(backend), holdUntil: retryUntil(others, backend, now) };
  const servers = [backend, ...others].flatMap((candidate) => serversOf(candidate, now));
  if (leastMs === 0 || areEqual(servers, cost)) return atOnce(backend);
  // Items that arrive until the others are free will be in their batches, too.
  const othersFreeMs = servers
    .filter(({ freeMs }) => freeMs > 0 && freeMs < leastMs)
    .map(({ freeMs }) => freeMs);
  const comingCost = othersFreeMs.length === 0 ? 0 : costPerMs * Math.min(...othersFreeMs);
  divide(servers, queuedCost + comingCost, maxBatchSize);
  const loaded = servers.filter(({ load }) => load > 0);
  const isFree = ({ candidate }: Server): boolean => usable.includes(candidate as C);
  const taker = loaded.find(({ candidate }) => candidate === backend) ?? loaded.find(isFree);
  if (taker === undefined) {
    const until = Math.min(...loaded.map(({ freeMs }) => freeMs));
    return { ...atOnce(backend), holdUntil: now + Math.max(MIN_HOLD_MS, until) };
  }
  return {
    backend: taker.candidate as C,
    holdUntil: undefined,
    maxCost: taker.load >= maxBatchSize ? Number.POSITIVE_INFINITY : taker.load,
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
  /** The cost that it takes of the queue. */
  load: number;
  /** When the batch that is being filled starts, and its cost so far. */
  startMs: number;
  filled: number;
  /** How much the total latency grows if the next part goes there. */
  addedMs: number;
}

/** At most `PARTS` slots, because no more of them would get a part. */
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
  return (
    known.length < durations.length || Math.max(...known) <= EQUAL_PREDICTIONS_FACTOR * Math.min(...known)
  );
}

/** Gives each part of the queue to the slot where it adds least to the total latency. */
function divide(servers: readonly Server[], queuedCost: number, maxBatchSize: number): void {
  const part = Math.min(maxBatchSize, Math.max(1, queuedCost / PARTS));
  for (const server of servers) server.addedMs = addedMs(server, part, maxBatchSize);
  for (let left = Math.min(queuedCost, servers.length * PARTS * maxBatchSize); left > 0; left -= part) {
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
  // An item is left to a busy backend only if it completes clearly sooner there.
  const sooner = freeMs > 0 ? EQUAL_PREDICTIONS_FACTOR : 1;
  if (filled + part > maxBatchSize) return sooner * part * (startMs + predict(maxBatchSize) + predict(part));
  const before = filled === 0 ? 0 : filled * (startMs + predict(filled));
  return sooner * ((filled + part) * (startMs + predict(filled + part)) - before);
}

/** 0 if nothing current is known and nothing runs there, so that one batch measures it. */
function durationMs(candidate: Candidate, cost: number, now: number): number {
  const expectedMs = candidate.mean(cost);
  const isKnown = expectedMs !== undefined && now - candidate.answeredAt <= BACKEND_FRESH_MS;
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

/** A batch that is overdue may hang: it is expected to take as long again as it is overdue. */
function freeAfterMs({ startedAt, expectedMs }: PlacedWork, now: number): number {
  return expectedMs === undefined ? Number.POSITIVE_INFINITY : Math.abs(startedAt + expectedMs - now);
}
