/** Where the share of misses crosses what is allowed, read off several probes. */
import type { RateProbe } from './rate-probe.js';

/** Over this range of rates, to each side, the log odds of a miss are taken to be straight in the log rate. */
const RANGE = 1.12;
/** Probes with more than so many times the allowed misses are overloaded: their odds depend on how long they lasted. */
const MOST_MISSES = 10;
const LEAST_PROBES = 3;
/** How far beyond the bracket the line may put the knee. */
const BEYOND = 1.02;

/**
 * A weighted line through the log odds of a miss over the log rate (one step of a logistic regression), of the probes
 * around the bracket. More probes than the two of the bracket halve the error that chance makes; where a line says
 * nothing, the two decide.
 */
export function fittedKnee(
  probes: readonly RateProbe[],
  met: RateProbe,
  missed: RateProbe,
  share: number,
): number {
  const near = crossing(met, missed, share);
  const used = probes.filter(
    ({ perSecond, shareWithin }) =>
      Math.max(perSecond / near, near / perSecond) < RANGE &&
      shareWithin < 1 &&
      shareWithin > 1 - MOST_MISSES * (1 - share),
  );
  if (used.length < LEAST_PROBES) return near;
  let [weights, x, y, xx, xy] = [0, 0, 0, 0, 0];
  for (const probe of used) {
    const weight = probe.requests * probe.shareWithin * (1 - probe.shareWithin);
    const atX = Math.log(probe.perSecond / near);
    const atY = logOdds(probe);
    weights += weight;
    x += weight * atX;
    y += weight * atY;
    xx += weight * atX * atX;
    xy += weight * atX * atY;
  }
  const slope = (weights * xy - x * y) / (weights * xx - x * x);
  if (!(slope > 0 && Number.isFinite(slope))) return near;
  const at = near * Math.exp((Math.log((1 - share) / share) - (y - slope * x) / weights) / slope);
  return Math.min(BEYOND * missed.perSecond, Math.max(met.perSecond / BEYOND, at));
}

/** By the secant of the log odds of a miss over the log rate, between two probes. */
export function crossing(low: RateProbe, high: RateProbe, share: number): number {
  const [from, to, at] = [logOdds(low), logOdds(high), Math.log((1 - share) / share)];
  if (!(to > from)) return Math.sqrt(low.perSecond * high.perSecond);
  const part = Math.min(1, Math.max(0, (at - from) / (to - from)));
  return low.perSecond * (high.perSecond / low.perSecond) ** part;
}

/** Half a miss more and half a good one more, so that none is not infinitely far away. */
function logOdds({ requests, shareWithin }: RateProbe): number {
  const good = requests * shareWithin;
  return Math.log((requests - good + 0.5) / (good + 0.5));
}
