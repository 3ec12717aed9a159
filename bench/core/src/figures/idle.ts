/** Whether an idle batcher uses timers or processor time. */
import { atMost } from '@batchwise/bench-harness';
import type { Figure } from '../figure.js';

export const idle: Figure = {
  name: 'idle',
  title: 'Idle: timers and processor time of an open batcher without items',

  async measure(rounds) {
    const results = await rounds.run('idle', { idle: { calls: 100_000, idleMs: 1000 } }, 1);
    const timers = results.idle.map(
      ({ resources }) => resources.filter((kind) => kind === 'Timeout' || kind === 'Immediate').length,
    );
    const kinds = [...new Set(results.idle.flatMap(({ resources }) => resources))];
    const before = results.idle.map(({ cpuMsBefore }) => cpuMsBefore.toFixed(1)).join(', ');
    return {
      rows: [
        {
          label: 'timers and immediates left',
          unit: 'count',
          samples: timers,
          goal: atMost(0, 0),
          detail: `active resources: ${kinds.length === 0 ? 'none' : kinds.join(', ')}`,
        },
        {
          label: 'processor time in 1 s, ms',
          unit: 'ms',
          samples: results.idle.map(({ cpuMs }) => cpuMs),
          detail: `before any work: ${before} ms`,
        },
      ],
      raw: results,
    };
  },
};
