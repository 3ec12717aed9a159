/** The picture of a knee search: the share within the target, and p99 as a share of the target, against the rate. */
import { lineChart } from '@batchwise/arena';
import type { Knee } from './find-knee.js';

/** p99 far above the target is cut off: how far tells nothing. */
const HIGHEST = 2;

export function kneeChart({ probes, rate, targetLatencyMs, share, kind }: Knee): string {
  const rising = probes.toSorted((a, b) => a.perSecond - b.perSecond);
  return lineChart({
    title: `Share within ${targetLatencyMs} ms, and p99, against the rate`,
    x: { label: 'requests per second', scale: 'log' },
    y: { label: 'share of requests; p99 as a share of the target', min: 0, max: HIGHEST, format: 'percent' },
    series: [
      {
        name: 'within target',
        points: rising.map((probe) => [probe.perSecond, probe.shareWithin]),
        emphasized: true,
      },
      {
        name: 'p99 / target',
        points: rising.map((probe) => [probe.perSecond, (probe.p99Ms ?? Number.NaN) / targetLatencyMs]),
      },
    ],
    yMarks: [
      { at: 1, label: `p99 at ${targetLatencyMs} ms; wanted: ${Number((100 * share).toFixed(2))} % within` },
    ],
    xMarks:
      rate === undefined
        ? []
        : [
            {
              at: rate,
              label: `${kind === 'found' ? 'knee' : 'knee at least'} ${Number(rate.toPrecision(4))}/s`,
            },
          ],
  });
}
