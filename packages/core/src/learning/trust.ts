/** How far what was learned of a backend is relied on, by the door and by the policy alike. */
import type { CurveEstimate } from './service-curve.js';

/**
 * How old the youngest measurement may be to refuse on while the backend is idle. Without this, one
 * slow first batch would have everybody refused for ever, as nothing would ever be measured again.
 */
export const FRESH_MS = 1000;

/** From how many batches on what was learned is trusted enough to be surprised. */
export const TRUSTED_SAMPLES = 8;

/**
 * Whether no slot has run more than once. The first batches may have been slow because they were the first, and
 * had something to load or to connect to; that all would be late is not concluded from them.
 */
export function isColdStart({ samples }: CurveEstimate, slots: number): boolean {
  return samples <= slots && samples < TRUSTED_SAMPLES;
}

/** What to count on, for a duration that is only expected. */
export function safeMs({ spread }: CurveEstimate, expectedMs: number): number {
  return expectedMs * (1 + SAFETY_SPREADS * spread);
}

/** How far above the expected duration a batch may be and still be counted on, in spreads. */
const SAFETY_SPREADS = 1.6;
