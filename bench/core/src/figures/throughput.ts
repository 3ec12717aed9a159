/** Requests per second, compared with dataloader and with promises alone. */
import { atLeast, type Goal, pairedRatios } from '@batchwise/bench-harness';
import type { Effort, Figure, Row } from '../figure.js';
import type { PathName } from '../jobs/paths.js';
import { rate } from '../notation.js';
import type { Rounds } from '../rounds.js';

const LABELS = {
  dataloader: 'dataloader',
  unlimited: 'Batcher, concurrency Infinity',
  'one slot': 'Batcher, one slot',
  'deadline, priority, subscriber': 'Batcher, deadline + priority + subscriber',
  'deadlines and priorities that differ': 'Batcher, deadlines and priorities that differ + subscriber',
  'the same with one slot': 'Batcher, the same with one slot',
  'shared signal': 'Batcher, one signal for all calls',
  batshit: 'batshit',
  'dataloader after one slot': 'dataloader, after a Batcher with one slot in the process',
  'bare promises': 'one promise per item, without a batcher',
} satisfies Partial<Record<PathName, string>>;

type Contender = keyof typeof LABELS;

const GOALS: Partial<Record<Contender, Goal>> = {
  unlimited: atLeast(1, 1),
  'one slot': atLeast(0.8),
  'deadline, priority, subscriber': atLeast(0.6),
  'shared signal': atLeast(0.5),
};

export const throughput: Figure = {
  name: 'throughput',
  title: 'Throughput: requests/s ÷ dataloader (1,000 callers in a closed loop, batches of 64, no-op handler)',

  async measure(rounds: Rounds, { warmupMs, timedMs }: Effort) {
    const names = Object.keys(LABELS) as Contender[];
    const contenders = Object.fromEntries(names.map((path) => [path, { path, warmupMs, timedMs }]));
    const results = await rounds.run('path', contenders as Record<Contender, { path: Contender } & Effort>);
    const perSecond = (name: Contender): number[] => results[name].map((result) => result.perSecond);
    const rows = names.map((name): Row => {
      const goal = GOALS[name];
      return {
        label: LABELS[name],
        unit: 'ratio',
        samples: pairedRatios(perSecond(name), perSecond('dataloader')),
        detail: rate(perSecond(name)),
        ...(goal && { goal }),
      };
    });
    return { rows, raw: results };
  },
};
