/** The results of the comparison with greedy dispatch, as text and as JSON. */

import { exactNumber } from '../plan/plan-notation.js';
import { type Palette, PLAIN } from '../plan/plan-text.js';
import { alignedTable } from '../report/text-table.js';
import { type HarmResult, MAX_GOODPUT_LOSS, MAX_LATENCY_RATIO } from './harm.js';

/** Harmed scenarios that are printed as files, at most. */
const SHOWN_FILES = 5;

/** The harm of a scenario as a multiple of the limit. */
function harmOf({ latencyRatio, goodputGain }: HarmResult): number {
  if (Number.isNaN(latencyRatio)) return Number.POSITIVE_INFINITY;
  return Math.max((latencyRatio - 1) / (MAX_LATENCY_RATIO - 1), -goodputGain / MAX_GOODPUT_LOSS);
}

export function harmText(results: readonly HarmResult[], palette: Palette = PLAIN): string {
  const harmed = harmedOf(results);
  const head = `${results.length} random scenarios: the adaptive policy does harm in ${harmed.length} (mean latency above ${MAX_LATENCY_RATIO} × greedy, or goodput more than ${100 * MAX_GOODPUT_LOSS} points below)`;
  if (harmed.length === 0) return `${palette.good(head)}\n`;
  return [
    palette.bad(head),
    alignedTable(
      [
        ['kind', 'scenarios', 'harmed', 'worst latency ratio', 'worst goodput, points'].map(palette.heading),
        ...kindsOf(results).map(({ tag, all, bad }) => [
          tag,
          String(all.length),
          String(bad.length),
          Math.max(...all.map(({ latencyRatio }) => latencyRatio)).toFixed(3),
          points(Math.min(...all.map(({ goodputGain }) => goodputGain))),
        ]),
      ],
      ['left', 'right', 'right', 'right', 'right'],
    ),
    alignedTable(
      [
        ['seed', 'latency ratio', 'goodput, points', 'rejected', 'scenario'].map(palette.heading),
        ...harmed.map(({ seed, latencyRatio, goodputGain, rejected, tags }) => [
          String(seed),
          latencyRatio.toFixed(3),
          points(goodputGain),
          `${(100 * rejected).toFixed(1)} %`,
          tags.join(', '),
        ]),
      ],
      ['right', 'right', 'right', 'right', 'left'],
    ),
    [
      palette.faint('The worst, as scenario files for --scenario:'),
      ...harmed.slice(0, SHOWN_FILES).map(({ file }) => JSON.stringify(file)),
    ].join('\n'),
    '',
  ].join('\n\n');
}

/** The worst first. */
function harmedOf(results: readonly HarmResult[]): HarmResult[] {
  return results.filter(({ isHarmed }) => isHarmed).sort((a, b) => harmOf(b) - harmOf(a));
}

/** Kinds of scenarios by the share that is harmed. */
function kindsOf(results: readonly HarmResult[]) {
  const tags = [...new Set(results.flatMap((result) => result.tags))];
  return tags
    .map((tag) => {
      const all = results.filter((result) => result.tags.includes(tag));
      return { tag, all, bad: all.filter(({ isHarmed }) => isHarmed) };
    })
    .sort((a, b) => b.bad.length / b.all.length - a.bad.length / a.all.length);
}

function points(share: number): string {
  return `${share < 0 ? '−' : share > 0 ? '+' : ''}${Math.abs(100 * share).toFixed(1)}`;
}

export function harmJson(results: readonly HarmResult[]): Record<string, unknown> {
  return {
    scenarios: results.length,
    harmed: harmedOf(results).length,
    results: results.map(({ seed, tags, latencyRatio, goodputGain, rejected, isHarmed, file }) => ({
      seed,
      tags,
      latency_ratio: exactNumber(latencyRatio),
      goodput_gain: exactNumber(goodputGain),
      rejected: exactNumber(rejected),
      harmed: isHarmed,
      file,
    })),
  };
}
