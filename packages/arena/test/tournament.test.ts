import { type Cell, tournament } from '@batchwise/arena';
import { describe, expect, test } from 'vitest';
import type { CellJob } from '../src/tournament/tournament-job.js';

function jobAt(load: number, items = 400, curve = 'c'): CellJob {
  const arrivals = { kind: 'poisson', load } as const;
  const cell: Cell = {
    target: 'rough_backend',
    family: 'f',
    curve,
    slots: 1,
    arrivals,
    items,
    seeds: [101],
    noise: 0.3,
  };
  return { kind: 'cell', cell };
}

describe('a tournament', () => {
  test('gives results in the order of its jobs', async () => {
    const jobs = [jobAt(0.1), jobAt(0.5, 2000), jobAt(0.9, 800)];
    const results = await tournament(jobs, { workers: 0 });
    expect(results.map(({ cell }) => cell)).toEqual(jobs.map(({ cell }) => cell));
    expect(await tournament(jobs, { workers: 0 })).toEqual(results);
  });

  test('reports progress and remaining time', async () => {
    let now = 0;
    const reported: { done: number; share: number; leftMs: number }[] = [];
    await tournament([jobAt(0.1), jobAt(0.1), jobAt(0.1), jobAt(0.1)], {
      workers: 0,
      onProgress: ({ done, total, share, leftMs }) => {
        expect(total).toBe(4);
        reported.push({ done, share, leftMs: Math.round(leftMs) });
      },
      clock: { now: () => 500 * now++ },
    });
    expect(reported).toEqual([
      { done: 1, share: 0.25, leftMs: 1500 },
      { done: 2, share: 0.5, leftMs: 1000 },
      { done: 3, share: 0.75, leftMs: 500 },
      { done: 4, share: 1, leftMs: 0 },
    ]);
  });

  test('without jobs ends at once', async () => {
    expect(await tournament([], { workers: 0 })).toEqual([]);
  });

  test('that fails names the cell', async () => {
    const jobs = [jobAt(0.1), { kind: 'cell', cell: { ...jobAt(0.5).cell, target: 'two_slots' } } as CellJob];
    await expect(tournament(jobs, { workers: 0 })).rejects.toThrow(
      'two_slots: c k 1 poisson ρ 0.5, noise 30 %: This optimum is for two slots of curve c.',
    );
  });
});
