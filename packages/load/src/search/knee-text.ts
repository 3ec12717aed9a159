/** The result of a knee search for people. */
import { type Palette, PLAIN } from '@batchwise/arena';
import type { Knee } from './find-knee.js';
import type { RateProbe } from './rate-probe.js';

export function kneeText(knee: Knee, palette: Palette = PLAIN): string {
  const colour = knee.rate === undefined ? palette.bad : palette.good;
  const lines = [colour(kneeAnswer(knee)), ''];
  const { interval } = knee;
  if (interval !== undefined) {
    lines.push(`Interval: ${written(interval[0])} to ${written(interval[1])}.`);
    lines.push(
      knee.isConfirmed
        ? 'Confirmed: met 5 % below the knee, missed 5 % above it.'
        : 'Not confirmed: probes contradict each other. The target is unsteady, or the steps are too short.',
    );
    lines.push('');
  }
  const rows = [
    ['rate', 'within', 'p50', 'p99', 'batch', 'seconds', ''],
    ...knee.probes.toSorted((a, b) => a.perSecond - b.perSecond).map(rowOf),
  ];
  const widths = [10, 9, 9, 9, 7, 9];
  for (const row of rows) {
    lines.push(
      row
        .map((cell, i) => (i < 6 ? cell.padStart(widths[i] as number) : `  ${cell}`))
        .join('')
        .trimEnd(),
    );
  }
  return `${lines.join('\n')}\n`;
}

/** The answer in a sentence. */
export function kneeAnswer({ kind, rate, limit, targetLatencyMs, share, from, to }: Knee): string {
  const goal = `${percent(share)} of requests within ${targetLatencyMs} ms`;
  const known = rate === undefined ? 'not known' : `at least ${written(rate)}`;
  switch (kind) {
    case 'found':
      return `Knee: ${written(rate ?? 0)} with ${goal}.`;
    case 'below':
      return `Knee: below ${written(from)}: the lowest rate does not have ${goal}.`;
    case 'above':
      return `Knee: at least ${written(to)}: the highest rate still has ${goal}.`;
    case 'generator':
      return `Knee: ${known}: the generator is the limit (${limit}). Use --processes, or a separate machine.`;
    case 'stopped':
      return `Knee: ${known}: the search was stopped.`;
  }
}

function rowOf(probe: RateProbe): string[] {
  const { perSecond, shareWithin, p50Ms, p99Ms, meanBatchSize, seconds, meets, isClear, generatorLimit } =
    probe;
  return [
    written(perSecond),
    percent(shareWithin),
    ms(p50Ms),
    ms(p99Ms),
    meanBatchSize?.toFixed(1) ?? '–',
    `${seconds} s`,
    `${meets ? 'meets' : 'misses'}${isClear ? '' : ', not clear'}${generatorLimit === undefined ? '' : `, generator: ${generatorLimit}`}`,
  ];
}

function written(perSecond: number): string {
  return `${perSecond >= 100 ? Math.round(perSecond) : Number(perSecond.toPrecision(3))}/s`;
}

function ms(value: number | undefined): string {
  return value === undefined ? '–' : `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ms`;
}

/** Rounded down, so that 100 % are all. */
function percent(share: number): string {
  return `${Number((Math.floor(share * 10_000 + 1e-6) / 100).toFixed(2))} %`;
}
