/** The traffic of a plan, a rate or a recording, and the same traffic at other rates. */

import type { Place } from '../files/place.js';
import { validMs, validPositive } from '../files/valid.js';
import { type OpenArrivals, poisson, recorded } from '../simulation/arrivals.js';

/** Poisson arrivals, or recorded times. */
export type Traffic =
  | { readonly kind: 'rate'; readonly perSecond: number }
  | { readonly kind: 'trace'; readonly timesMs: readonly number[] };

/** Of a longer trace the busiest part of this length is used, in requests. */
export const LONGEST_TRACE = 200_000;
/** A higher rate is a mistake in the unit. */
export const MAX_PER_SECOND = 1e9;

export function validTraffic(place: Place, traffic: Traffic): Traffic {
  if (traffic.kind === 'rate') {
    validPositive(place.key('perSecond'), traffic.perSecond, MAX_PER_SECOND);
    return traffic;
  }
  const { timesMs } = traffic;
  const here = place.key('timesMs');
  timesMs.forEach((at, i) => {
    validMs(here.index(i), at);
    const before = timesMs[i - 1] ?? 0;
    if (at < before) throw here.index(i).expected(`not less than the time before (${before})`, at);
  });
  const busiest = busiestStretch(timesMs, LONGEST_TRACE);
  if (busiest.length < 2 || busiest.at(-1) === busiest[0])
    throw here.error('expected at least two requests at different times.');
  return { kind: 'trace', timesMs: busiest };
}

/** Mean rate in requests per second. */
export function rateOf(traffic: Traffic): number {
  if (traffic.kind === 'rate') return traffic.perSecond;
  const { timesMs } = traffic;
  const spanMs = (timesMs.at(-1) as number) - (timesMs[0] as number);
  return ((timesMs.length - 1) / spanMs) * 1000;
}

/** The same traffic at another rate: the times of a trace are scaled. */
export function arrivalsAt(traffic: Traffic, perSecond: number): OpenArrivals {
  if (traffic.kind === 'rate') return poisson(perSecond / 1000);
  const { timesMs } = traffic;
  const start = timesMs[0] as number;
  const scale = rateOf(traffic) / perSecond;
  return recorded(
    'trace',
    timesMs.map((at) => (at - start) * scale),
  );
}

function busiestStretch(timesMs: readonly number[], length: number): readonly number[] {
  if (timesMs.length <= length) return timesMs;
  let best = 0;
  let shortest = Number.POSITIVE_INFINITY;
  for (let first = 0; first + length <= timesMs.length; first++) {
    const spanMs = (timesMs[first + length - 1] as number) - (timesMs[first] as number);
    if (spanMs < shortest) {
      shortest = spanMs;
      best = first;
    }
  }
  return timesMs.slice(best, best + length);
}
