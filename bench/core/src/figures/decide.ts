/** The overhead of decisions and learning in adaptive(), compared with greedy(). */
import { atMost } from '@batchwise/bench-harness';
import type { Figure, Row } from '../figure.js';
import { ns } from '../notation.js';

const CASES = [
  { label: 'one slot, load 0.3', slots: 1, load: 0.3, targetLatencyMs: null },
  { label: 'one slot, load 0.8', slots: 1, load: 0.8, targetLatencyMs: null },
  { label: 'two slots, load 0.8', slots: 2, load: 0.8, targetLatencyMs: null },
  { label: 'one slot, load 1.3, a target', slots: 1, load: 1.3, targetLatencyMs: 25 },
];

export const decide: Figure = {
  name: 'decide',
  title:
    'decide: overhead of adaptive() over greedy() in microseconds per item (simulated traffic, 5 % noise)',

  async measure(rounds, { timedMs }) {
    const items = Math.round(200 * timedMs);
    const rows: Row[] = [];
    const raw: Record<string, unknown> = {};
    for (const { label, slots, load, targetLatencyMs } of CASES) {
      const params = { slots, load, targetLatencyMs, items };
      const results = await rounds.run('decide', {
        adaptive: { policy: 'adaptive', ...params },
        greedy: { policy: 'greedy', ...params },
      });
      const adaptive = results.adaptive.map(({ nsEach }) => nsEach);
      const greedy = results.greedy.map(({ nsEach }) => nsEach);
      rows.push({
        label,
        unit: 'us',
        samples: adaptive.map((each, round) => (each - (greedy[round] as number)) / 1000),
        goal: atMost(2, 1),
        detail: `${ns(adaptive)} − ${ns(greedy)}`,
      });
      raw[label] = results;
    }
    return { rows, raw };
  },
};
