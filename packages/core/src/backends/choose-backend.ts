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
  predict(cost: number): number | undefined;
  /** When a batch last ended well there. */
  readonly answeredAt: number;
}

export interface Choice<C> {
  readonly backend: C;
  /** Wait for a faster backend until then, at most. */
  readonly holdUntil: number | undefined;
}

/** After so long what was learned expires: a backend that was slow once would otherwise never be used again. */
const FRESH_MS = 10_000;
/** Predictions that differ by less than a quarter are taken as equal: they are not better than that. */
const ALIKE = 1.25;
/** So much sooner a batch must be done on a busy backend to wait for it. */
const SOONER = 1.25;
/** Shortest hold: that of the timers of Node. */
const MIN_HOLD_MS = 1;

/** The batch that needs a backend. */
export interface QueuedBatch {
  readonly cost: number;
  /** How many batches of this cost are queued, this one included; a fraction counts. */
  readonly batches: number;
  /** A backend did not start it. */
  readonly isRetry: boolean;
}

/** @param turn decides among equals */
export function chooseBackend<C extends Candidate>(
  candidates: readonly C[],
  batch: QueuedBatch,
  turn: number,
  now: number,
): Choice<C> | undefined {
  const [only] = candidates;
  if (only === undefined) return undefined;
  if (candidates.length === 1)
    return only.freeSlots > 0 ? { backend: only, holdUntil: undefined } : undefined;
  const free = candidates.filter(({ freeSlots }) => freeSlots > 0);
  const trial = free.find(({ isTrialDue }) => isTrialDue);
  if (trial !== undefined) return { backend: trial, holdUntil: undefined };
  const isSound = ({ doubtfulUntil }: Candidate): boolean => doubtfulUntil <= now;
  const sound = free.filter(isSound);
  const usable = sound.length > 0 ? sound : free;
  const durations = usable.map((candidate) => durationMs(candidate, batch.cost, now));
  const leastMs = Math.min(...durations);
  const alike = usable.filter((_, i) => (durations[i] as number) <= leastMs * ALIKE);
  const leastBusy = Math.min(...alike.map(busyShare));
  const idlest = alike.filter((candidate) => busyShare(candidate) === leastBusy);
  const backend = idlest[turn % idlest.length];
  if (backend === undefined) return undefined;
  const busy = candidates.filter((candidate) => candidate.freeSlots === 0 && isSound(candidate));
  // The retries of a batch must not be used up by the same backend.
  if (batch.isRetry && sound.length === 0) return { backend, holdUntil: retryUntil(busy, backend, now) };
  return { backend, holdUntil: holdUntil(busy, batch, leastMs, now) };
}

/** 0 when nothing is known that has not expired, so that one batch measures it; while that runs, it is not counted on. */
function durationMs(candidate: Candidate, cost: number, now: number): number {
  const expectedMs = candidate.predict(cost);
  const isKnown = expectedMs !== undefined && now - candidate.answeredAt <= FRESH_MS;
  if (!isKnown && candidate.work.length === 0) return 0;
  return expectedMs ?? Number.POSITIVE_INFINITY;
}

function busyShare({ slots, work }: Candidate): number {
  return slots === Number.POSITIVE_INFINITY ? work.length / Number.MAX_SAFE_INTEGER : work.length / slots;
}

/** When another backend is expected to be free, as long as the failure of this one is recent. */
function retryUntil(
  busy: readonly Candidate[],
  { doubtfulUntil }: Candidate,
  now: number,
): number | undefined {
  const freeMs = Math.min(...busy.map((candidate) => freeAfterMs(candidate, now)));
  return freeMs === Number.POSITIVE_INFINITY
    ? undefined
    : Math.min(now + Math.max(MIN_HOLD_MS, freeMs), doubtfulUntil);
}

function holdUntil(
  busy: readonly Candidate[],
  { cost, batches }: QueuedBatch,
  leastMs: number,
  now: number,
): number | undefined {
  let soonestMs = leastMs / SOONER;
  let until: number | undefined;
  for (const candidate of busy) {
    const expectedMs = candidate.predict(cost);
    if (expectedMs === undefined) continue;
    const freeMs = freeAfterMs(candidate, now);
    const doneMs = freeMs + expectedMs * Math.max(1, batches / candidate.slots);
    if (doneMs >= soonestMs) continue;
    soonestMs = doneMs;
    until = now + Math.max(MIN_HOLD_MS, freeMs);
  }
  return until;
}

/** Work that is overdue is expected to take as long again as it is overdue: it may hang. */
function freeAfterMs({ work }: Candidate, now: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (const { startedAt, expectedMs } of work) {
    if (expectedMs !== undefined) least = Math.min(least, Math.abs(startedAt + expectedMs - now));
  }
  return least;
}
