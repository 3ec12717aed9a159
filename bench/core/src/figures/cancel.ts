/** Whether the time to cancel an item depends on the queue length. */
import { atMost, pairedRatios } from '@batchwise/bench-harness';
import type { Figure, Row } from '../figure.js';
import { count, ns } from '../notation.js';

const DEPTHS = [10_000, 100_000, 1_000_000];
const REFERENCE = 10_000;

export const cancel: Figure = {
  name: 'cancel',
  title: 'Cancel: time per cancelled ticket ÷ that at 10,000 queued (a random half, in random order)',

  async measure(rounds, { maxQueued }) {
    const depths = DEPTHS.filter((queued) => queued <= maxQueued);
    const results = await rounds.run('cancel', { cancel: { depths, minCancels: 50_000 } });
    const at = (depth: number): number[] =>
      results.cancel.map(
        ({ depths }) => depths.find(({ queued }) => queued === depth)?.cancelNs ?? Number.NaN,
      );
    const rows = depths.map(
      (queued): Row => ({
        label: `${count(queued)} queued`,
        unit: 'ratio',
        samples: pairedRatios(at(queued), at(REFERENCE)),
        detail: ns(at(queued)),
        ...(queued !== REFERENCE && { goal: atMost(2, 1) }),
      }),
    );
    return {
      rows,
      notes: ['A linear search through the queue would have the ratios 10 and 100.'],
      raw: results,
    };
  },
};
