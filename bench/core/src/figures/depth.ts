/** Whether the time per item depends on the queue length, from ten to a million items. */
import { pairedRatios, within } from '@batchwise/bench-harness';
import type { Figure, Row } from '../figure.js';
import type { DepthKind, DepthResult } from '../jobs/depth.js';
import { count, ns } from '../notation.js';

const DEPTHS = [10, 100, 1000, 10_000, 100_000, 1_000_000];
const REFERENCE = 1000;
const FLAT = within(0.8, 1.2);

export const depth: Figure = {
  name: 'depth',
  title: 'Depth: time per item ÷ that at 1,000 queued (filled behind a gate, then drained in batches of 10)',

  async measure(rounds, { maxQueued }) {
    const params = { depths: DEPTHS.filter((queued) => queued <= maxQueued), minItems: 500_000 };
    const results = await rounds.run('depth', {
      submit: { kind: 'submit', ...params },
      'submit with a deadline': { kind: 'submit with a deadline', ...params },
      'bare promises': { kind: 'bare promises', ...params },
    });
    const kinds = Object.keys(results) as DepthKind[];
    return {
      rows: kinds.flatMap((kind) => params.depths.map((queued) => rowOf(kind, queued, results[kind]))),
      notes: [
        'Bare promises, whose resolve functions are kept in an array, show the share of garbage collection.',
      ],
      raw: results,
    };
  },
};

function rowOf(kind: DepthKind, queued: number, results: readonly DepthResult[][]): Row {
  const at = (depth: number, part: keyof DepthResult): number[] =>
    results.map((depths) => depths.find((result) => result.queued === depth)?.[part] ?? Number.NaN);
  const isJudged = kind !== 'bare promises' && queued !== REFERENCE;
  return {
    label: `${kind}, ${count(queued)} queued`,
    unit: 'ratio',
    samples: pairedRatios(at(queued, 'totalNs'), at(REFERENCE, 'totalNs')),
    detail:
      `${ns(at(queued, 'totalNs'))}: in ${ns(at(queued, 'submitNs'))}, out ${ns(at(queued, 'drainNs'))}; ` +
      `of this ${ns(at(queued, 'collectorNs'))} in collector pauses`,
    ...(isJudged && { goal: FLAT }),
  };
}
