import type { CurvePoint } from './service-curve.js';

/** How long a batch of this cost takes, by points of rising cost: on the line between two; undefined beyond the last. */
export function durationAt(points: readonly CurvePoint[], cost: number): number | undefined {
  const first = points[0];
  const last = points[points.length - 1];
  if (first === undefined || last === undefined || cost > last.cost) return undefined;
  if (cost <= first.cost) return first.durationMs;
  let low = 0;
  let high = points.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((points[middle] as CurvePoint).cost < cost) low = middle;
    else high = middle;
  }
  return onLine(points[low] as CurvePoint, points[high] as CurvePoint, cost);
}

function onLine(a: CurvePoint, b: CurvePoint, cost: number): number {
  return a.durationMs + ((b.durationMs - a.durationMs) * (cost - a.cost)) / (b.cost - a.cost);
}
