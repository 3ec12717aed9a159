/** The overhead of a separate AbortSignal per call, compared with the minimal use of a new signal. */
import { atMost, pairedRatios } from '@batchwise/bench-harness';
import type { Figure } from '../figure.js';
import type { Metered } from '../jobs/meter.js';
import { ns } from '../notation.js';

export const signal: Figure = {
  name: 'signal',
  title: 'AbortSignal: a call with its own signal ÷ (a plain call + make, listen, stop listening)',

  async measure(rounds, { warmupMs, timedMs }) {
    const timing = { warmupMs, timedMs };
    const results = await rounds.run('path', {
      'own signal': { path: 'own signal', ...timing },
      'plain submit': { path: 'unlimited', ...timing },
      'bare signal': { path: 'bare signal', ...timing },
      'bare signal, kept': { path: 'bare signal, kept', ...timing },
    });
    const own = nsOf(results['own signal']);
    const plain = nsOf(results['plain submit']);
    const bare = nsOf(results['bare signal']);
    const kept = nsOf(results['bare signal, kept']);
    return {
      rows: [
        {
          label: 'own signal per call',
          unit: 'ratio',
          samples: pairedRatios(own, sums(plain, bare)),
          goal: atMost(1.3),
          detail: `${ns(own)} ÷ (${ns(plain)} + ${ns(bare)})`,
        },
        {
          label: 'the same, 1,000 bare signals alive',
          unit: 'ratio',
          samples: pairedRatios(own, sums(plain, kept)),
          detail: `${ns(own)} ÷ (${ns(plain)} + ${ns(kept)})`,
        },
      ],
      raw: results,
    };
  },
};

function nsOf(results: readonly Metered[]): number[] {
  return results.map(({ nsEach }) => nsEach);
}

function sums(left: readonly number[], right: readonly number[]): number[] {
  return left.map((value, round) => value + (right[round] ?? Number.NaN));
}
