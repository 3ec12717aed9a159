/** Users, answered and rejected requests of a run over time, as an SVG. */
import { lineChart } from '@batchwise/arena';
import type { LoadReport, SeriesPoint } from '@batchwise/load';

/** @param highest end of the vertical axis, so that several plots can be compared */
export function ratePlot({ series, seconds }: LoadReport, title: string, highest: number): string {
  // In the last second the users stop.
  const whole = series.filter(({ second }) => second + 2 <= seconds);
  const line = (name: string, of: (point: SeriesPoint) => number) => ({
    name,
    points: whole.map((point) => [point.second + 1, of(point)] as const),
  });
  return lineChart({
    title,
    x: { label: 'time (s)', min: 0 },
    y: { label: 'users; requests per second', min: 0, max: highest },
    series: [
      { ...line('users', ({ users }) => users), dashed: true },
      { ...line('answered/s', ({ ok }) => ok), emphasized: true },
      line('rejected/s', ({ rejected }) => rejected),
      line('failed/s', ({ failed }) => failed),
    ],
  });
}
