/**
 * How long a batch should wait when more comes than can be served. Then a long queue is certain, and what everybody
 * in it will have waited is the backend's time that was wasted before: by doing nothing, or by a batch that gets less
 * done than a full one would in the same time. Where T is flat at first, the very first batch of a rush would waste
 * nearly all of its time; a wait as long as others cost next to nothing wastes less.
 */
import type { QueueView } from './policy.js';
import { predict } from './view-questions.js';

/** The shortest wait to consider, as a share of the longest. */
const SHORTEST = 1 / 8;

/** The wait, up to `mostMs`, that wastes least; 0 for none. Instead of all that waits, a `step` of it could leave now. */
export function waitUntilFuller(view: QueueView, costPerMs: number, mostMs: number, step: number): number {
  const { cost, limits } = view;
  const { maxBatchSize, timerResolutionMs } = limits;
  if (cost >= maxBatchSize) return 0;
  const fullPerItemMs = predict(view, maxBatchSize) / maxBatchSize;
  const wastedMs = (size: number) => predict(view, size) - size * fullPerItemMs;
  let leastMs = Math.min(wastedMs(cost), step > 0 ? wastedMs(step) : Number.POSITIVE_INFINITY);
  let bestMs = 0;
  const longestMs = Math.min(mostMs, (maxBatchSize - cost) / costPerMs);
  for (let ms = longestMs; ms > 0 && ms >= SHORTEST * longestMs; ms /= 2) {
    const waitMs = Math.max(ms, timerResolutionMs);
    if (waitMs > mostMs) break;
    const then = Math.min(maxBatchSize, cost + costPerMs * waitMs);
    if (waitMs + wastedMs(then) < leastMs) {
      leastMs = waitMs + wastedMs(then);
      bestMs = waitMs;
    }
    if (ms <= timerResolutionMs) break;
  }
  return bestMs;
}
