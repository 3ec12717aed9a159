/**
 * No at the door: predicts when a newcomer would be answered, from the learned curve and what is
 * ahead of it, so that a caller who cannot be served in time hears so at once and not after a wait.
 * It errs on the side of letting in: the policy decides again when the batch is formed.
 */
import type { RunningWork } from './policy.js';
import type { CurveEstimate, CurvePoint } from './service-curve.js';

/** What a prediction looks at: a batcher. */
export interface Backend {
  /** Those that have something waiting cannot share batches with each other. */
  readonly line: { readonly groups: number };
  readonly settings: { readonly concurrency: number; readonly maxBatchSize: number };
  readonly running: readonly RunningWork[];
  readonly curve: CurveEstimate;
}

/** How long until an item of this cost is answered, `costAhead` going before it; undefined as long as nothing is known. */
export function predictedStayMs(
  cost: number,
  costAhead: number,
  backend: Backend,
  now: number,
): number | undefined {
  const { curve, settings } = backend;
  const best = curve.best(settings.maxBatchSize);
  if (best === undefined) return undefined;
  const ownBatch = Math.min(settings.maxBatchSize, partialBatch(costAhead, best) + cost);
  return startsAfterMs(costAhead, best, backend, now) + (curve.predict(ownBatch) ?? best.durationMs);
}

/** When to come back, for one who would be answered too late now: when what is ahead has gone far enough. */
export function retryAfterMs(
  cost: number,
  costAhead: number,
  allowedMs: number,
  backend: Backend,
  now: number,
): number {
  const { curve, settings } = backend;
  const best = curve.best(settings.maxBatchSize);
  const aloneMs = curve.predict(cost);
  if (best === undefined || aloneMs === undefined) return UNKNOWN_RETRY_MS;
  const startMs = startsAfterMs(costAhead, best, backend, now);
  const partial = partialBatch(costAhead, best);
  const partialMs = partial === 0 ? 0 : (curve.predict(partial) ?? 0);
  // Too slow even with nobody ahead: to be tried again when what was measured is no longer fresh.
  if (aloneMs > allowedMs) return Math.ceil(startMs + partialMs + FRESH_MS);
  // Either it comes in time to leave together with the last few ahead of it, or after them.
  const togetherMs = curve.predict(Math.min(settings.maxBatchSize, partial + cost)) ?? 0;
  // Not sooner than a batch takes, or all who are refused in a burst would be back at once.
  const leastMs = Math.max(1, Math.ceil(aloneMs));
  const joinAfterMs = Math.ceil(startMs + togetherMs - allowedMs);
  if (togetherMs <= allowedMs && joinAfterMs >= leastMs && joinAfterMs < startMs) return joinAfterMs;
  return Math.max(leastMs, Math.ceil(startMs + partialMs + aloneMs - allowedMs));
}

/** When the last batch of what is ahead leaves, which has room left. */
function startsAfterMs(costAhead: number, best: CurvePoint, backend: Backend, now: number): number {
  const fullBatches = Math.floor(costAhead / best.cost);
  const otherGroups = backend.line.groups - 1;
  const busyMs =
    otherGroups > fullBatches
      ? otherGroups * (backend.curve.predict(costAhead / otherGroups) ?? best.durationMs)
      : fullBatches * best.durationMs;
  return freeSlotAfterMs(backend, now) + busyMs / backend.settings.concurrency;
}

function partialBatch(costAhead: number, best: CurvePoint): number {
  return best.cost === Number.POSITIVE_INFINITY ? costAhead : costAhead % best.cost;
}

/** How long until there is room again, when the line is full. */
export function roomAfterMs(backend: Backend, now: number): number {
  const best = backend.curve.best(backend.settings.maxBatchSize);
  if (best === undefined) return UNKNOWN_RETRY_MS;
  return Math.max(
    1,
    Math.ceil(freeSlotAfterMs(backend, now) + best.durationMs / backend.settings.concurrency),
  );
}

/** What to tell a caller to wait while nothing is known of the backend. */
const UNKNOWN_RETRY_MS = 1000;

/**
 * How old the youngest measurement may be to refuse on while the backend is idle. Without this, one
 * slow first batch would have everybody refused for ever, as nothing would ever be measured again.
 */
export const FRESH_MS = 1000;

function freeSlotAfterMs({ running, settings, curve }: Backend, now: number): number {
  if (running.length < settings.concurrency) return 0;
  let earliest = Number.POSITIVE_INFINITY;
  for (const { cost, startedAt } of running) {
    earliest = Math.min(earliest, startedAt + (curve.predict(cost) ?? 0));
  }
  return Math.max(0, earliest - now);
}
